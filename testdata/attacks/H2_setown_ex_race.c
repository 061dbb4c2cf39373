// SPDX-License-Identifier: Apache-2.0
//
// H2: the owner of F_SETOWN_EX lies in memory and flips between ourselves and ptguard.
#include "cfgh.h"

int main(void)
{
	static struct f_owner_ex o = {F_OWNER_PID, 0};
	struct f_owner_ex is;
	pid_t t = target(), me = getpid();
	int s[2];
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, s), "socketpair");
	o.pid = me;
	for (int i = 0; i < 4; i++)
		if (((char *)&me)[i] != ((char *)&t)[i])
			flip((volatile char *)&o.pid + i, ((char *)&me)[i], ((char *)&t)[i]);
	while (race_more()) {
		fcntl(s[0], F_SETOWN_EX, &o);
		race_won(!fcntl(s[0], F_GETOWN_EX, &is) && is.pid == t);
	}
	race_end();
}
