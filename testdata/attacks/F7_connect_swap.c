// SPDX-License-Identifier: Apache-2.0
//
// F7, C1: the folder of a unix socket is exchanged for a link to a denied one during connect.
#include "cfgh.h"

int main(void)
{
	struct sockaddr_un a = unix_name("x/sock"), peer;
	must(mkdir("x", 0755), "mkdir");
	listening("x/sock");
	must(symlink("denied", "y"), "symlink");
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
