// SPDX-License-Identifier: Apache-2.0
// As A15, but the handler changes the registers that the restarted call is made with.
#include "A15_restart.h"
#include <ucontext.h>

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info;
	ucontext_t *u = context;
	static char secret[] = "secret";
	u->uc_mcontext.gregs[REG_RDI] = (greg_t)secret;
}

int main(void) { restarted((struct sigaction){.sa_sigaction = handler, .sa_flags = SA_SIGINFO}, "fifo"); }
