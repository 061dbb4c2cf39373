// SPDX-License-Identifier: Apache-2.0
//
// C11: /dev/stdin that is an O_PATH descriptor of the secret.
#include "cfgh.h"

int main(void)
{
	must(dup2(open("secret", O_PATH), 0), "dup2");
	verdict_secret(open("/dev/stdin", O_RDONLY));
}
