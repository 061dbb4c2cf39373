// SPDX-License-Identifier: Apache-2.0
// A family that is not allowed, with junk above.
#include "attack.h"

int main(void)
{
	verdict(syscall(SYS_socket, 0xdeadbeef00000000 | AF_PACKET, 0xdeadbeef00000000 | SOCK_DGRAM, 0));
}
