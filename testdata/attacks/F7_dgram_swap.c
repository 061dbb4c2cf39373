// SPDX-License-Identifier: Apache-2.0
//
// F7, C1: a datagram to a unix socket whose folder is exchanged for a link to a denied one, by
// sendto and by sendmsg. What arrives there is what was won.
#include "cfgh.h"

int main(void)
{
	struct sockaddr_un a = unix_name("x/dgram");
	must(mkdir("x", 0755), "mkdir");
	// private/dgram is denied by policy.yaml, so it is bound under another name.
	must(mkdir("private", 0755), "mkdir");
	must(symlink("private", "z"), "symlink");
	int in = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0), there = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0), out = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	struct sockaddr_un b = unix_name("b");
	must(bind(in, (struct sockaddr *)&a, sizeof a), "bind");
	must(bind(there, (struct sockaddr *)&b, sizeof b), "bind b");
	must(rename("b", "private/dgram"), "rename");
	start_swap("x", "z");
	char byte = 0;
	struct iovec v = {&byte, 1};
	struct msghdr m = {.msg_name = &a, .msg_namelen = sizeof a, .msg_iov = &v, .msg_iovlen = 1};
	for (int i = 0; race_more(); i++) {
		if (i % 2)
			sendto(out, &byte, 1, 0, (struct sockaddr *)&a, sizeof a);
		else
			sendmsg(out, &m, 0);
		race_won(recv(there, &byte, 1, 0) == 1);
		while (recv(in, &byte, 1, 0) == 1)
			;
	}
	race_end();
}
