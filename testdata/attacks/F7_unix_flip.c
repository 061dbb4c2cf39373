// SPDX-License-Identifier: Apache-2.0
// A thread flips a letter of the path of a unix socket.
#include "attack.h"

int main(void)
{
	static struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = "denieD/sock"};
	flip(a.sun_path + 5, 'D', 'd');
	while (race_more()) {
		int s = socket(AF_UNIX, SOCK_STREAM, 0);
		struct sockaddr_un peer = {0};
		socklen_t n = sizeof peer;
		if (!connect(s, (struct sockaddr *)&a, sizeof a) && !getpeername(s, (struct sockaddr *)&peer, &n))
			race_won(strstr(peer.sun_path, "denied/") != NULL);
		close(s);
	}
	race_end();
}
