// SPDX-License-Identifier: Apache-2.0
//
// F11: a listener on every interface.
#include "cfgh.h"

int main(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	int s = socket(AF_INET, SOCK_STREAM, 0);
	must(s, "socket");
	verdict(bind(s, (struct sockaddr *)&a, sizeof a));
}
