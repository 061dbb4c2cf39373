// SPDX-License-Identifier: Apache-2.0
//
// F5: AF_UNSPEC dissolves a connection to an allowed port; then a denied one.
#include "cfgh.h"

int main(void)
{
	struct sockaddr_in ok = loopback("ATTACK_OK"), bad = loopback("ATTACK_BAD");
	struct sockaddr none = {.sa_family = AF_UNSPEC};
	int s = socket(AF_INET, SOCK_DGRAM, 0);
	must(s, "socket");
	must(connect(s, (struct sockaddr *)&ok, sizeof ok), "connect");
	must(connect(s, &none, sizeof none), "AF_UNSPEC");
	verdict(connect(s, (struct sockaddr *)&bad, sizeof bad));
}
