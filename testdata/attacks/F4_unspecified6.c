// SPDX-License-Identifier: Apache-2.0
//
// F4: :: with the mapped loopback behind it.
#include "cfgh.h"

int main(void)
{
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = loopback("ATTACK_BAD").sin_port};
	inet_pton(AF_INET6, "::", &a.sin6_addr);
	int s = socket(AF_INET6, SOCK_STREAM, 0);
	must(s, "socket");
	struct sockaddr_in6 from = {.sin6_family = AF_INET6};
	inet_pton(AF_INET6, "::ffff:127.0.0.1", &from.sin6_addr); // then :: means 127.0.0.1
	must(bind(s, (struct sockaddr *)&from, sizeof from), "bind");
	verdict(connect(s, (struct sockaddr *)&a, sizeof a));
}
