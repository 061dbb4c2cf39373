// SPDX-License-Identifier: Apache-2.0
//
// G3: migrate_pages of a process outside.
#include "cfgh.h"

int main(void)
{
	unsigned long from = 1, to = 1;
	verdict(syscall(SYS_migrate_pages, target(), 64, &from, &to));
}
