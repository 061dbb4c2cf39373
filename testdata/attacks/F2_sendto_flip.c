// SPDX-License-Identifier: Apache-2.0
// A thread flips the port that sendto(2) sends to.
#define SEND(s, m) sendto(s, m[0].msg_hdr.msg_iov->iov_base, 1, 0, m[0].msg_hdr.msg_name, m[0].msg_hdr.msg_namelen)
#include "F2_flip.h"
