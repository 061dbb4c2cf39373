// SPDX-License-Identifier: Apache-2.0
//
// C1: rename-from below a folder that is exchanged for a link to ../outside.
#define ACT "rename-from"
#include "C1_act.h"
