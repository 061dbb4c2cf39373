// SPDX-License-Identifier: Apache-2.0
//
// C2: create below a folder that is renamed away, with a link to ../outside put in its place.
#define ACT "create"
#define WAY "steps"
#include "C1_act.h"
