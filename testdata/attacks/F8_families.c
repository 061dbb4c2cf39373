// SPDX-License-Identifier: Apache-2.0
//
// F8: families that no rule can judge.
#include "cfgh.h"

int main(void)
{
	int won = 0;
	for (int f = 0; f < 46; f++) {
		if (f == AF_UNIX || f == AF_INET || f == AF_INET6)
			continue;
		for (int t = SOCK_STREAM; t <= SOCK_PACKET; t++) {
			if (f == AF_NETLINK) // protocol 0 is the one for getifaddrs
				won += socket(f, SOCK_RAW, 9 /* audit */) >= 0;
			else
				won += syscall(SYS_socket, 0xdead00000000l | f, t, 0) >= 0;
		}
	}
	if (won)
		succeeded();
	refused();
}
