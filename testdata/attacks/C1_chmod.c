// SPDX-License-Identifier: Apache-2.0
//
// C1: chmod below a folder that is exchanged for a link to ../outside.
#define ACT "chmod"
#include "C1_act.h"
