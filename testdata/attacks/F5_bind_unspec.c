// SPDX-License-Identifier: Apache-2.0
//
// F5: bind with family AF_UNSPEC and any address is taken as AF_INET.
#include "cfgh.h"

int main(void)
{
	struct sockaddr_in a = {.sin_family = AF_UNSPEC};
	int s = socket(AF_INET, SOCK_STREAM, 0);
	must(s, "socket");
	if (bind(s, (struct sockaddr *)&a, sizeof a) < 0)
		refused();
	verdict(listen(s, 1));
}
