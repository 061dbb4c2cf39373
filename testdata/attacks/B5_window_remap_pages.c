// SPDX-License-Identifier: Apache-2.0
// remap_file_pages(2) changes the order of the pages of the window.
#include "attack.h"

int main(void)
{
	uintptr_t from, to;
	window_or_own(&from, &to);

	verdict(syscall(SYS_remap_file_pages, to - 4096, 4096, 0, 0, 0));
}
