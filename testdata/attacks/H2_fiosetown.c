// SPDX-License-Identifier: Apache-2.0
//
// H2: FIOSETOWN sends SIGIO to ptguard.
#include "cfgh.h"

int main(void)
{
	pid_t t = target();
	int s[2];
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, s), "socketpair");
	verdict(ioctl(s[0], 0x8901, &t));
}
