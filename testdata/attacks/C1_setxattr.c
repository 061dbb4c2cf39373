// SPDX-License-Identifier: Apache-2.0
//
// C1: setxattr below a folder that is exchanged for a link to ../outside.
#define ACT "setxattr"
#include "C1_act.h"
