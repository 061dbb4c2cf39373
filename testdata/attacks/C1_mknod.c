// SPDX-License-Identifier: Apache-2.0
//
// C1: mknod below a folder that is exchanged for a link to ../outside.
#define ACT "mknod"
#include "C1_act.h"
