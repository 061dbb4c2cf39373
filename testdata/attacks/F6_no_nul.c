// SPDX-License-Identifier: Apache-2.0
//
// F6: a unix path without its final NUL, cut off by the length alone.
#include "cfgh.h"

int main(void)
{
	struct sockaddr_un a = unix_name("denied/sockXXXX");
	int s = socket(AF_UNIX, SOCK_STREAM, 0);
	must(s, "socket");
	verdict(connect(s, (struct sockaddr *)&a, offsetof(struct sockaddr_un, sun_path) + strlen("denied/sock")));
}
