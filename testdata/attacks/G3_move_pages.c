// SPDX-License-Identifier: Apache-2.0
//
// G3: move_pages of a process outside, which only asks where a page is.
#include "cfgh.h"

int main(void) { verdict(syscall(SYS_move_pages, target(), 0, NULL, NULL, NULL, 0)); }
