// SPDX-License-Identifier: Apache-2.0
//
// F3: MSG_FASTOPEN by sendmsg.
#include "cfgh.h"

int main(void)
{
	struct sockaddr_in a = loopback("ATTACK_BAD");
	struct iovec v = {"x", 1};
	struct msghdr h = {.msg_name = &a, .msg_namelen = sizeof a, .msg_iov = &v, .msg_iovlen = 1};
	int s = socket(AF_INET, SOCK_STREAM, 0);
	must(s, "socket");
	verdict(sendmsg(s, &h, MSG_FASTOPEN));
}
