// SPDX-License-Identifier: Apache-2.0
//
// C1: utime below a folder that is exchanged for a link to ../outside.
#define ACT "utime"
#include "C1_act.h"
