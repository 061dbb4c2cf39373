// SPDX-License-Identifier: Apache-2.0
//
// C1: link-to below a folder that is exchanged for a link to ../outside.
#define ACT "link-to"
#include "C1_act.h"
