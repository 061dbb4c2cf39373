// SPDX-License-Identifier: Apache-2.0
//
// F13: a source route in the control data of a message (IP_RETOPTS) sends it to another address than its
// own. The kernel routes it to a broadcast address, for which the socket has no SO_BROADCAST: EACCES. Before it
// lie BEFORE entries that do no harm.
#include "cfgh.h"

#ifndef BEFORE
#define BEFORE 0
#endif

static struct {
	struct {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(int)) - sizeof(struct cmsghdr)];
	} harmless[BEFORE];
	struct cmsghdr h;
	char room[CMSG_SPACE(8) - sizeof(struct cmsghdr)];
} control = {.h = {.cmsg_level = IPPROTO_IP, .cmsg_type = IP_RETOPTS, .cmsg_len = CMSG_LEN(8)}};

static struct sockaddr_in address;
static struct iovec data = {"x", 1};
static struct msghdr message = {.msg_name = &address, .msg_namelen = sizeof address, .msg_iov = &data, .msg_iovlen = 1};

// routed gives a socket on which the message, with its route from now on, would take effect.
static int routed(void)
{
	for (int i = 0; i < BEFORE; i++) {
		control.harmless[i].h = (struct cmsghdr){.cmsg_level = IPPROTO_IP, .cmsg_type = IP_TTL, .cmsg_len = CMSG_LEN(sizeof(int))};
		*(int *)CMSG_DATA(&control.harmless[i].h) = 64;
	}
	address = loopback("ATTACK_OK");
	int s = socket(AF_INET, SOCK_DGRAM, 0);
	must(s, "socket");
	if (sendmsg(s, &message, 0) != 1)
		finish("SETUP", "without a source route: %s", strerror(errno));
	memcpy(CMSG_DATA(&control.h), "\x83\x07\x04\x7f\xff\xff\xff", 8); // LSRR, 127.255.255.255
	message.msg_control = &control;
	message.msg_controllen = sizeof control;
	return s;
}

MAYBE void race_level(void)
{
	int s = routed();
	flip((char *)&control.h.cmsg_level, IPPROTO_IP, SOL_SOCKET);
	while (race_more())
		race_won(sendmsg(s, &message, 0) < 0 && errno == EACCES);
	race_end();
}
