// SPDX-License-Identifier: Apache-2.0
//
// F7: a hard link to a denied unix socket.
#include "cfgh.h"

int main(void)
{
	if (link("denied/sock", "h") < 0)
		refused();
	struct sockaddr_un a = unix_name("h");
	int s = socket(AF_UNIX, SOCK_STREAM, 0);
	verdict(connect(s, (struct sockaddr *)&a, sizeof a));
}
