// SPDX-License-Identifier: Apache-2.0
//
// G1: PTRACE_TRACEME.
#include "cfgh.h"
#include <sys/ptrace.h>

int main(void) { verdict(ptrace(PTRACE_TRACEME, 0, 0, 0)); }
