// SPDX-License-Identifier: Apache-2.0
//
// G11: add_key.
#include "cfgh.h"

int main(void) { verdict(syscall(SYS_add_key, "user", "ptguard-attack", "x", 1, -2)); }
