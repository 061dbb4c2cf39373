// SPDX-License-Identifier: Apache-2.0
//
// C1: truncate below a folder that is exchanged for a link to ../outside.
#define ACT "truncate"
#include "C1_act.h"
