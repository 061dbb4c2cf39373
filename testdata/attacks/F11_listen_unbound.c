// SPDX-License-Identifier: Apache-2.0
//
// F11: listen on an unbound socket binds it to every interface.
#include "cfgh.h"

int main(void)
{
	int s = socket(AF_INET, SOCK_STREAM, 0);
	must(s, "socket");
	verdict(listen(s, 1));
}
