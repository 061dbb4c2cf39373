// SPDX-License-Identifier: Apache-2.0
//
// C1: bind below a folder that is exchanged for a link to ../outside.
#define ACT "bind"
#include "C1_act.h"
