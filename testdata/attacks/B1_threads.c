// SPDX-License-Identifier: Apache-2.0
// Forty threads open flipped names, each its own: more than there are slots.
#include "attack.h"

static char names[40][8];

static void *opener(void *arg)
{
	while (race_more())
		race_won(is_secret(open(arg, O_RDONLY)));
	return NULL;
}

static void *flip_all(void *arg)
{
	for (;;)
		for (int i = 0; i < 40; i++)
			((volatile char *)names[i])[5] ^= 'T' ^ 't';
	return arg;
}

int main(void)
{
	pthread_t t[40];
	for (int i = 0; i < 40; i++)
		strcpy(names[i], i % 2 ? "secreT" : "secret");
	start(flip_all, NULL);
	for (int i = 0; i < 40; i++)
		t[i] = start(opener, names[i]);
	for (int i = 0; i < 40; i++)
		pthread_join(t[i], NULL);
	race_end();
}
