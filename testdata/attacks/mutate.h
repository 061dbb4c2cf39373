// SPDX-License-Identifier: Apache-2.0
//
// Racers of calls that change a name: the name points into denieD/ and, while one letter is
// flipped, into denied/. One victim after the other is tried, as each can be won only once.
#ifndef MUTATE_H
#define MUTATE_H
#include "attack.h"

enum { victims = 20 };

// mutate runs act(name) over and over. again(allowed name) makes the allowed twin ready for
// the next try; done(denied name, its state at the start) tells of a win.
MAYBE _Noreturn void mutate(const char *leaf, void (*act)(const char *), void (*again)(const char *), int (*done)(const char *, const struct stat *))
{
	static char name[64], allowed[64], denied[64];
	strcpy(name, "denieD/");
	flip(name + 5, 'D', 'd');
	for (int i = 0; i < victims; i++) {
		struct stat before = {0};
		snprintf(allowed, sizeof allowed, "denieD/%s%d", leaf, i);
		snprintf(denied, sizeof denied, "denied/%s%d", leaf, i);
		strcpy(name + 7, allowed + 7);
		stat(denied, &before);
		do {
			if (!race_more())
				race_end();
			act(name);
			again(allowed);
		} while (!done(denied, &before));
		race_won(1);
	}
	race_end();
}

// gone and there are what done() can be.
MAYBE int gone(const char *denied, const struct stat *before)
{
	struct stat st;
	(void)before;
	return stat(denied, &st) < 0 && errno == ENOENT;
}

MAYBE int there(const char *denied, const struct stat *before)
{
	struct stat st;
	(void)before;
	return lstat(denied, &st) == 0;
}

// touched tells whether any metadata has changed.
MAYBE int touched(const char *denied, const struct stat *before)
{
	struct stat st;
	return stat(denied, &st) == 0 && memcmp(&st.st_ctim, &before->st_ctim, sizeof st.st_ctim);
}

MAYBE void nothing(const char *allowed) { (void)allowed; }
MAYBE void make(const char *allowed) { close(open(allowed, O_WRONLY | O_CREAT, 0644)); }
MAYBE void take(const char *allowed) { unlink(allowed); }

#endif
