// SPDX-License-Identifier: Apache-2.0
//
// H2: the owner of F_SETOWN_EX lies in memory and flips between ourselves and ptguard.
#include "cfgh.h"

static struct f_owner_ex o = {F_OWNER_PID, 0};
static pid_t t, me;

static void *turning(void *arg)
{
	volatile pid_t *p = &o.pid;
	unsigned seed = 1;
	for (;;) {
		*p = *p == me ? t : me;
		for (volatile int i = rand_r(&seed) & 0x3fff; i > 0; i--)
			;
	}
	return arg;
}

int main(void)
{
	struct f_owner_ex is;
	int s[2];
	t = target();
	o.pid = me = getpid();
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, s), "socketpair");
	start(turning, NULL);
	while (race_more()) {
		fcntl(s[0], F_SETOWN_EX, &o);
		race_won(!fcntl(s[0], F_GETOWN_EX, &is) && is.pid == t);
	}
	race_end();
}
