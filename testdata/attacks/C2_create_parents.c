// SPDX-License-Identifier: Apache-2.0
//
// C2: create below a folder whose parent is exchanged for one in which it is a link to ../outside.
#define ACT "create"
#define WAY "parents"
#include "C1_act.h"
