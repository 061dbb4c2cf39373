// SPDX-License-Identifier: Apache-2.0
//
// F7: a link to a denied unix socket.
#include "cfgh.h"

int main(void)
{
	must(symlink("denied/sock", "l"), "symlink");
	struct sockaddr_un a = unix_name("l");
	int s = socket(AF_UNIX, SOCK_STREAM, 0);
	must(s, "socket");
	verdict(connect(s, (struct sockaddr *)&a, sizeof a));
}
