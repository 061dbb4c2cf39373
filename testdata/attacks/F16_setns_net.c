// SPDX-License-Identifier: Apache-2.0
//
// F16: a network namespace of our own.
#include "cfgh.h"

int main(void) { verdict(unshare(CLONE_NEWNET | (geteuid() ? CLONE_NEWUSER : 0))); }
