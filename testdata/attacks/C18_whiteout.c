// SPDX-License-Identifier: Apache-2.0
//
// C18: RENAME_WHITEOUT leaves a device behind.
#include "cfgh.h"

int main(void) { verdict(renameat2(AT_FDCWD, "secreT", AT_FDCWD, "w", RENAME_WHITEOUT)); }
