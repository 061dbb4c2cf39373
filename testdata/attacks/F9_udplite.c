// SPDX-License-Identifier: Apache-2.0
//
// F9: UDP-Lite is UDP.
#include "cfgh.h"

int main(void)
{
	struct sockaddr_in a = loopback("ATTACK_BAD");
	int s = socket(AF_INET, SOCK_DGRAM, 136);
	must(s, "socket UDP-Lite");
	verdict(connect(s, (struct sockaddr *)&a, sizeof a));
}
