// SPDX-License-Identifier: Apache-2.0
// F13: a message with a source route, see F13_cmsg.h.
#include "F13_cmsg.h"

int main(void)
{
	int s = routed();
	verdict(sendmsg(s, &message, 0) < 0 && errno == EACCES ? 0 : -1);
}
