// SPDX-License-Identifier: Apache-2.0
//
// C1: chown below a folder that is exchanged for a link to ../outside.
#define ACT "chown"
#include "C1_act.h"
