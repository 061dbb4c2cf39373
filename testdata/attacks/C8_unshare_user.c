// SPDX-License-Identifier: Apache-2.0
//
// C8: a user namespace makes us root in it.
#include "cfgh.h"

int main(void) { verdict(unshare(CLONE_NEWUSER)); }
