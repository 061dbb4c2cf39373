// SPDX-License-Identifier: Apache-2.0
//
// C1: rmdir below a folder that is exchanged for a link to ../outside.
#define ACT "rmdir"
#include "C1_act.h"
