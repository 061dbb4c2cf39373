// SPDX-License-Identifier: Apache-2.0
//
// C11: /proc/self/root leads everywhere.
#include "cfgh.h"

int main(void)
{
	char name[4200];
	snprintf(name, sizeof name, "/proc/self/root%s", work("secret"));
	verdict_secret(open(name, O_RDONLY));
}
