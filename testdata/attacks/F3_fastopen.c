// SPDX-License-Identifier: Apache-2.0
//
// F3: MSG_FASTOPEN connects as it sends.
#include "cfgh.h"

int main(void)
{
	struct sockaddr_in a = loopback("ATTACK_BAD");
	int s = socket(AF_INET, SOCK_STREAM, 0);
	must(s, "socket");
	verdict(sendto(s, "x", 1, MSG_FASTOPEN, (struct sockaddr *)&a, sizeof a));
}
