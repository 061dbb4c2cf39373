// SPDX-License-Identifier: Apache-2.0
//
// F9: a raw socket. Needs CAP_NET_RAW.
#include "cfgh.h"

int main(void) { verdict(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP)); }
