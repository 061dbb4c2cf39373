// SPDX-License-Identifier: Apache-2.0
//
// C29: a service outside that would act for us (--deny-net unix).
#include "cfgh.h"

int main(void)
{
	struct sockaddr_un a = unix_name("denied/sock");
	int s = socket(AF_UNIX, SOCK_STREAM, 0);
	must(s, "socket");
	verdict(connect(s, (struct sockaddr *)&a, sizeof a));
}
