// SPDX-License-Identifier: Apache-2.0
// A descriptor from a process outside, over a socket that the policy denies.
#include "attack.h"

int main(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = "denied/sock"};
	int s = socket(AF_UNIX, SOCK_STREAM, 0);
	must(s, "socket");
	if (connect(s, (struct sockaddr *)&a, sizeof a))
		refused();
	char byte, control[64];
	struct iovec v = {&byte, 1};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
	must(recvmsg(s, &m, 0), "recvmsg");
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	if (!c || c->cmsg_type != SCM_RIGHTS)
		setup("no descriptor came");
	verdict_secret(*(int *)CMSG_DATA(c));
}
