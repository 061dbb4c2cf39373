// SPDX-License-Identifier: Apache-2.0
//
// C8, F16: the other namespaces.
#include "cfgh.h"

int main(void) { verdict(unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER)); }
