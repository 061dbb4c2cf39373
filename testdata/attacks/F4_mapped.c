// SPDX-License-Identifier: Apache-2.0
//
// F4: ::ffff:127.0.0.1.
#include "cfgh.h"

int main(void)
{
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = loopback("ATTACK_BAD").sin_port};
	inet_pton(AF_INET6, "::ffff:127.0.0.1", &a.sin6_addr);
	int s = socket(AF_INET6, SOCK_STREAM, 0);
	must(s, "socket");
	verdict(connect(s, (struct sockaddr *)&a, sizeof a));
}
