// SPDX-License-Identifier: Apache-2.0
//
// F7, C1: the name of a unix socket is exchanged for a link to a denied one during connect.
#include "cfgh.h"

static void *accepting(void *arg)
{
	for (;;)
		close(accept(*(int *)arg, NULL, NULL));
	return NULL;
}

int main(void)
{
	struct sockaddr_un a = unix_name("x"), peer;
	int l = listening("x");
	must(symlink("denied/sock", "y"), "symlink");
	start(accepting, &l);
	start_swap("x", "y");
	while (race_more()) {
		socklen_t n = sizeof peer;
		int s = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
		must(s, "socket");
		memset(&peer, 0, sizeof peer);
		connect(s, (struct sockaddr *)&a, sizeof a);
		race_won(!getpeername(s, (struct sockaddr *)&peer, &n) && strstr(peer.sun_path, "denied/"));
		close(s);
	}
	race_end();
}
