// SPDX-License-Identifier: Apache-2.0
//
// F9: MPTCP is TCP.
#include "cfgh.h"

int main(void)
{
	struct sockaddr_in a = loopback("ATTACK_BAD");
	int s = socket(AF_INET, SOCK_STREAM, 262);
	must(s, "socket MPTCP");
	verdict(connect(s, (struct sockaddr *)&a, sizeof a));
}
