// SPDX-License-Identifier: Apache-2.0
//
// F8: a packet socket. Needs CAP_NET_RAW.
#include "cfgh.h"

int main(void) { verdict(socket(AF_PACKET, SOCK_RAW, htons(3))); }
