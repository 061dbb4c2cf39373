// SPDX-License-Identifier: Apache-2.0
//
// C1: tmpfile below a folder that is exchanged for a link to ../outside.
#define ACT "tmpfile"
#include "C1_act.h"
