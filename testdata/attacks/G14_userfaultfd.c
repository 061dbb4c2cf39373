// SPDX-License-Identifier: Apache-2.0
//
// G14: userfaultfd, for user mode only too.
#include "cfgh.h"

int main(void) { verdict(syscall(SYS_userfaultfd, 1)); }
