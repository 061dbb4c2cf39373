// SPDX-License-Identifier: Apache-2.0
//
// C24: symlinkat.
#include "cfgh.h"

int main(void) { verdict(symlinkat("x", AT_FDCWD, outside("s"))); }
