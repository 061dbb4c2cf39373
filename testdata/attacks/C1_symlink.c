// SPDX-License-Identifier: Apache-2.0
//
// C1: symlink below a folder that is exchanged for a link to ../outside.
#define ACT "symlink"
#include "C1_act.h"
