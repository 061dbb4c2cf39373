// SPDX-License-Identifier: Apache-2.0
//
// G11: keyctl: the id of the session key ring.
#include "cfgh.h"

int main(void) { verdict(syscall(SYS_keyctl, 0, -3, 1)); }
