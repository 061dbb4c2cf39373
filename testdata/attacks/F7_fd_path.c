// SPDX-License-Identifier: Apache-2.0
//
// F7: a denied unix socket through /proc/self/fd of its folder, and of itself.
#include "cfgh.h"

int main(void)
{
	char n[64];
	int won = 0, e = 0;
	for (int i = 0; i < 2; i++) {
		int d = open(i ? "denied/sock" : "denied", O_PATH), s = socket(AF_UNIX, SOCK_STREAM, 0);
		must(d, "open O_PATH");
		snprintf(n, sizeof n, i ? "/proc/self/fd/%d" : "/proc/self/fd/%d/sock", d);
		struct sockaddr_un a = unix_name(n);
		won |= !connect(s, (struct sockaddr *)&a, sizeof a);
		e = errno;
	}
	errno = e;
	if (won)
		succeeded();
	refused();
}
