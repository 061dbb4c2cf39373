// SPDX-License-Identifier: Apache-2.0
//
// G1: PTRACE_SEIZE of a process outside.
#include "cfgh.h"
#include <sys/ptrace.h>

int main(void) { verdict(ptrace(PTRACE_SEIZE, target(), 0, 0)); }
