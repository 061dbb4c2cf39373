// SPDX-License-Identifier: Apache-2.0
//
// Calls that ptguard carries out for a thread while something ends or interrupts that thread.
// Each round has a name of its own below denieD/, whose one letter is flipped, so that it
// points into denied/ at times; a win is a name that is in denied/ when the round is over.
#ifndef INFLIGHT_H
#define INFLIGHT_H
#include "cfgh.h"

static char flying[64] = "denieD/";

// fly makes calls of all kinds on the flipped name of a round, for good. The names that they
// made in denieD/ are taken away, so that each call finds its name free.
MAYBE _Noreturn void fly(int round)
{
	char allowed[64], mine[64];
	struct sockaddr_un full = unix_name("full");
	snprintf(flying + 7, sizeof flying - 7, "n%d", round);
	snprintf(allowed, sizeof allowed, "denieD/n%d", round);
	snprintf(mine, sizeof mine, "mine%d", round);
	close(open(mine, O_CREAT | O_WRONLY, 0644));
	for (unsigned n = (unsigned)round;; n++) {
		struct sockaddr_un u;
		int s;
		switch (n % 8) {
		case 0:
			mkdir(flying, 0755);
			rmdir(allowed);
			break;
		case 1:
			rename(mine, flying);
			rename(allowed, mine);
			break;
		case 2:
			link("secreT", flying);
			break;
		case 3:
			symlink("t", flying);
			break;
		case 4:
			close(open(flying, O_CREAT | O_WRONLY, 0644));
			break;
		case 5:
			mknod(flying, S_IFIFO | 0644, 0);
			break;
		case 6: // this one is reissued, and holds back all changes of names while it is on its way
			s = socket(AF_UNIX, SOCK_STREAM, 0);
			u = unix_name("denieD/");
			strcpy(u.sun_path, flying);
			bind(s, (struct sockaddr *)&u, sizeof u);
			close(s);
			break;
		case 7: // and this one may have to wait, so it is made again and again
			if (n % 64 == 63) {
				s = socket(AF_UNIX, SOCK_STREAM, 0);
				connect(s, (struct sockaddr *)&full, sizeof full);
				close(s);
			}
		}
		unlink(allowed);
	}
}

// full_socket is one whose queue is full: who connects, waits.
MAYBE void full_socket(void)
{
	int l = listening("full");
	must(listen(l, 0), "listen");
	for (int i = 0; i < 2; i++) {
		struct sockaddr_un a = unix_name("full");
		int s = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
		connect(s, (struct sockaddr *)&a, sizeof a);
	}
}

// landed tells whether a round has put its name into denied/. The rename shows that changes
// of names are still carried out, whatever the round has left behind.
MAYBE int landed(int round)
{
	char name[64];
	struct stat st;
	put("before", "", 0644);
	must(rename("before", "after"), "rename after a round");
	snprintf(name, sizeof name, "denied/n%d", round);
	return !lstat(name, &st);
}

// soon waits for an instant within the first calls of a round.
MAYBE void soon(int round)
{
	struct timespec t = {0, (unsigned)round * 7919 % 3000 * 1000};
	nanosleep(&t, NULL);
}

MAYBE void wait_for(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0)
		if (errno != EINTR)
			setup("waitpid");
}

#endif
