// SPDX-License-Identifier: Apache-2.0
//
// C24: utime.
#include "cfgh.h"

int main(void) { verdict(utimensat(AT_FDCWD, "secret", NULL, 0)); }
