// SPDX-License-Identifier: Apache-2.0
// The denied name is flipped in under an open that truncates.
#include "attack.h"

int main(void)
{
	static char name[] = "denieD/file";
	struct stat secret, st;
	must(stat("denied/file", &secret), "stat");
	flip(name + 5, 'D', 'd');
	while (race_more()) {
		int fd = open(name, O_WRONLY | O_TRUNC);
		race_won(fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == secret.st_ino);
		close(fd);
	}
	race_end();
}
