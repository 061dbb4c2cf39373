// SPDX-License-Identifier: Apache-2.0
//
// F6: an address longer than its family needs.
#include "cfgh.h"

int main(void)
{
	struct sockaddr_in a = loopback("ATTACK_BAD");
	struct sockaddr_storage u = {0};
	memcpy(&u, &a, sizeof a);
	int s = socket(AF_INET, SOCK_STREAM, 0);
	must(s, "socket");
	verdict(connect(s, (struct sockaddr *)&u, sizeof u));
}
