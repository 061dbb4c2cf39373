// SPDX-License-Identifier: Apache-2.0
// A thread flips the port that sendmmsg(2) sends to.
#define SEND(s, m) sendmmsg(s, m, 1, 0)
#include "F2_flip.h"
