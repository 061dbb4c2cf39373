// SPDX-License-Identifier: Apache-2.0
//
// C1: create below a folder that is exchanged for a link to ../outside.
#define ACT "create"
#include "C1_act.h"
