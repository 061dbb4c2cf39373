// SPDX-License-Identifier: Apache-2.0
//
// F2: the second message of sendmmsg goes to a denied port.
#include "cfgh.h"

int main(void)
{
	struct sockaddr_in ok = loopback("ATTACK_OK"), bad = loopback("ATTACK_BAD"), from;
	struct iovec v = {"x", 1};
	struct mmsghdr h[2] = {
		{.msg_hdr = {.msg_name = &ok, .msg_namelen = sizeof ok, .msg_iov = &v, .msg_iovlen = 1}},
		{.msg_hdr = {.msg_name = &bad, .msg_namelen = sizeof bad, .msg_iov = &v, .msg_iovlen = 1}},
	};
	char b[8];
	int s = socket(AF_INET, SOCK_DGRAM, 0), won = 0, done = 0, r = 0;
	must(s, "socket");
	while (done < 2 && (r = sendmmsg(s, h + done, 2 - (unsigned)done, 0)) > 0)
		done += r;
	int e = errno;
	struct pollfd f = {s, POLLIN, 0};
	while (poll(&f, 1, 300) == 1) {
		socklen_t n = sizeof from;
		if (recvfrom(s, b, sizeof b, 0, (struct sockaddr *)&from, &n) > 0)
			won |= from.sin_port == bad.sin_port;
	}
	errno = e;
	if (won)
		succeeded();
	refused();
}
