// SPDX-License-Identifier: Apache-2.0
//
// F13: IP_OPTIONS.
#include "cfgh.h"

int main(void)
{
	int s = socket(AF_INET, SOCK_STREAM, 0);
	must(s, "socket");
	verdict(setsockopt(s, IPPROTO_IP, IP_OPTIONS, "\x83\x07\x04\x7f\x00\x00\x01", 8));
}
