// SPDX-License-Identifier: Apache-2.0
//
// F13: SO_BINDTODEVICE.
#include "cfgh.h"

int main(void)
{
	int s = socket(AF_INET, SOCK_STREAM, 0);
	must(s, "socket");
	verdict(setsockopt(s, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3));
}
