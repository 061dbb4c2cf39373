// SPDX-License-Identifier: Apache-2.0
//
// C1: mkdir below a folder that is exchanged for a link to ../outside.
#define ACT "mkdir"
#include "C1_act.h"
