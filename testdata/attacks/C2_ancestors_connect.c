// SPDX-License-Identifier: Apache-2.0
//
// C2: ancestors are exchanged while a socket is reached through `..` of the current directory.
#include "ancestors.h"

static void *accepting(void *arg)
{
	for (;;)
		close(accept(*(int *)arg, NULL, NULL));
	return NULL;
}

int main(void)
{
	ancestors();
	struct sockaddr_un a = unix_name("../../../denied/sock"), peer;
	int own = listening("far/off/denied/sock");
	start(accepting, &own);
	must(fchdir(in), "fchdir");
	while (race_more()) {
		socklen_t n = sizeof peer;
		memset(&peer, 0, sizeof peer);
		int s = socket(AF_UNIX, SOCK_STREAM, 0);
		if (!connect(s, (struct sockaddr *)&a, sizeof a) && !getpeername(s, (struct sockaddr *)&peer, &n))
			race_won(!strstr(peer.sun_path, "far/off/denied/sock")); // it may be absolute
		close(s);
	}
	race_end();
}
