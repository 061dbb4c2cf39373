// SPDX-License-Identifier: Apache-2.0
//
// C1: write below a folder that is exchanged for a link to ../outside.
#define ACT "write"
#include "C1_act.h"
