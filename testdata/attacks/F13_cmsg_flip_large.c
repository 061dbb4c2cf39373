// SPDX-License-Identifier: Apache-2.0
// F13, F2: as F13_cmsg_flip, behind more control data than lies in a slot of the window.
#define BEFORE 300
#include "F13_cmsg.h"

int main(void) { race_level(); }
