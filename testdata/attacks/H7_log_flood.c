// SPDX-License-Identifier: Apache-2.0
//
// H7: ten thousand refusals; the next refusal must still be one.
#include "cfgh.h"

int main(void)
{
	int won = 0;
	char n[64];
	for (int i = 0; i < 10000 && !won; i++) {
		snprintf(n, sizeof n, "%s%d", i % 2 ? "denied/n" : "secret", i); // no two alike: nothing folds
		won += is_secret(open(i % 2 ? n : "secret", i % 2 ? O_CREAT | O_WRONLY : O_RDONLY, 0644));
	}
	if (won)
		succeeded();
	errno = EPERM;
	verdict_secret(open("secret", O_RDONLY));
}
