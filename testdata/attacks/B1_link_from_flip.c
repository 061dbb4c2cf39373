// SPDX-License-Identifier: Apache-2.0
// link(2) whose source is flipped: the new name would give the denied file.
#include "attack.h"

int main(void)
{
	static char name[] = "denieD/file";
	struct stat secret, st;
	must(stat("denied/file", &secret), "stat");
	flip(name + 5, 'D', 'd');
	while (race_more()) {
		link(name, "mine");
		race_won(stat("mine", &st) == 0 && st.st_ino == secret.st_ino);
		unlink("mine");
	}
	race_end();
}
