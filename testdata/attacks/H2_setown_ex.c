// SPDX-License-Identifier: Apache-2.0
//
// H2: F_SETOWN_EX sends SIGIO to ptguard.
#include "cfgh.h"

int main(void)
{
	pid_t t = target();
	int s[2];
	struct f_owner_ex o = {F_OWNER_PID, t};
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, s), "socketpair");
	verdict(fcntl(s[0], F_SETOWN_EX, &o));
}
