// SPDX-License-Identifier: Apache-2.0
// F13, F2: the level of the control data flips to one that has no such option.
#include "F13_cmsg.h"

int main(void) { race_level(); }
