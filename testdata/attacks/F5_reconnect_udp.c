// SPDX-License-Identifier: Apache-2.0
//
// F5: a datagram socket is connected a second time.
#include "cfgh.h"

int main(void)
{
	struct sockaddr_in ok = loopback("ATTACK_OK"), bad = loopback("ATTACK_BAD");
	int s = socket(AF_INET, SOCK_DGRAM, 0);
	must(s, "socket");
	must(connect(s, (struct sockaddr *)&ok, sizeof ok), "connect");
	if (connect(s, (struct sockaddr *)&bad, sizeof bad) < 0)
		refused();
	verdict(write(s, "x", 1));
}
