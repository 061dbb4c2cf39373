// SPDX-License-Identifier: Apache-2.0
//
// F13: TCP_REPAIR makes a connection without a connect. Needs CAP_NET_ADMIN.
#include "cfgh.h"
#include <netinet/tcp.h>

int main(void)
{
	int s = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	must(s, "socket");
	verdict(setsockopt(s, IPPROTO_TCP, TCP_REPAIR, &one, sizeof one));
}
