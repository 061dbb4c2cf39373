// SPDX-License-Identifier: Apache-2.0
//
// C2: bind below a folder whose parent is exchanged for one in which it is a link to ../outside.
#define ACT "bind"
#define WAY "parents"
#include "C1_act.h"
