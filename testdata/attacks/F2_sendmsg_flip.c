// SPDX-License-Identifier: Apache-2.0
// A thread flips the port that sendmsg(2) sends to.
#define SEND(s, m) sendmsg(s, &m[0].msg_hdr, 0)
#include "F2_flip.h"
