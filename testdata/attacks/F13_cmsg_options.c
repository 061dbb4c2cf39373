// SPDX-License-Identifier: Apache-2.0
//
// F13: a source route in the control data of a message (IP_RETOPTS) sends it to another address than its
// own. The kernel routes it to a broadcast address, for which the socket has no SO_BROADCAST.
#include "cfgh.h"

int main(void)
{
	struct sockaddr_in a = loopback("ATTACK_OK");
	struct iovec v = {"x", 1};
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(8)];
	} c = {.h = {.cmsg_level = IPPROTO_IP, .cmsg_type = IP_RETOPTS, .cmsg_len = CMSG_LEN(8)}};
	struct msghdr m = {.msg_name = &a, .msg_namelen = sizeof a, .msg_iov = &v, .msg_iovlen = 1};
	int s = socket(AF_INET, SOCK_DGRAM, 0);
	must(s, "socket");
	if (sendmsg(s, &m, 0) != 1)
		finish("SETUP", "without a source route: %s", strerror(errno));
	memcpy(CMSG_DATA(&c.h), "\x83\x07\x04\x7f\xff\xff\xff", 8); // LSRR, 127.255.255.255
	m.msg_control = &c;
	m.msg_controllen = sizeof c;
	verdict(sendmsg(s, &m, 0) < 0 && errno == EACCES ? 0 : -1);
}
