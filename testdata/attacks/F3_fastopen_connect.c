// SPDX-License-Identifier: Apache-2.0
//
// F3: TCP_FASTOPEN_CONNECT defers the connect to the first send.
#include "cfgh.h"
#include <netinet/tcp.h>

int main(void)
{
	struct sockaddr_in a = loopback("ATTACK_BAD");
	int s = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	must(s, "socket");
	must(setsockopt(s, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &one, sizeof one), "TCP_FASTOPEN_CONNECT");
	if (connect(s, (struct sockaddr *)&a, sizeof a) < 0)
		refused();
	verdict(send(s, "x", 1, 0));
}
