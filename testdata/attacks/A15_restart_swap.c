// SPDX-License-Identifier: Apache-2.0
// The handler changes the name of the call that is made again.
#include "A15_restart.h"

static char name[16] = "fifo";

static void handler(int sig)
{
	(void)sig;
	strcpy(name, "secret");
}

int main(void) { restarted((struct sigaction){.sa_handler = handler}, name); }
