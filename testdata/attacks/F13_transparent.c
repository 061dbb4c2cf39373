// SPDX-License-Identifier: Apache-2.0
//
// F13: IP_TRANSPARENT. Needs CAP_NET_ADMIN.
#include "cfgh.h"

int main(void)
{
	int s = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	must(s, "socket");
	verdict(setsockopt(s, IPPROTO_IP, IP_TRANSPARENT, &one, sizeof one));
}
