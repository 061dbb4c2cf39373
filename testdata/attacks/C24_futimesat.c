// SPDX-License-Identifier: Apache-2.0
//
// C24: futimesat.
#include "cfgh.h"

int main(void) { verdict(syscall(SYS_futimesat, AT_FDCWD, outside("file"), NULL)); }
