// SPDX-License-Identifier: Apache-2.0
//
// C1: unlink below a folder that is exchanged for a link to ../outside.
#define ACT "unlink"
#include "C1_act.h"
