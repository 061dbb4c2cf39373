// SPDX-License-Identifier: Apache-2.0
//
// C2: write below a folder whose parent is exchanged for one in which it is a link to ../outside.
#define ACT "write"
#define WAY "parents"
#include "C1_act.h"
