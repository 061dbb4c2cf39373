// SPDX-License-Identifier: Apache-2.0
//
// F6: a unix path that fills all 108 bytes.
#include "cfgh.h"

int main(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int n = 0;
	while (n < 108 - 11) // ./././ and, if it is odd, one more slash
		n += sprintf(a.sun_path + n, n + 2 <= 97 ? "./" : "/");
	memcpy(a.sun_path + 97, "denied/sock", 11);
	int s = socket(AF_UNIX, SOCK_STREAM, 0);
	must(s, "socket");
	verdict(connect(s, (struct sockaddr *)&a, sizeof a));
}
