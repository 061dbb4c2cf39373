// SPDX-License-Identifier: Apache-2.0
//
// H8: 20 programs with two megabytes of words each, and then the secret.
#include "cfgh.h"

int main(int argc, char **argv)
{
	if (argc > 3)
		_exit(0);
	static char big[100000], *words[20];
	memset(big, 'x', sizeof big - 1);
	for (int i = 0; i < 18; i++)
		words[i] = big;
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			execv("./victiM", words);
			_exit(1);
		}
		must(pid, "fork");
	}
	int st, failed = 0;
	while (wait(&st) > 0)
		failed += st != 0;
	if (failed)
		finish("SUCCEEDED", "%d of 20 programs did not run", failed);
	(void)argv;
	verdict_secret(open("secret", O_RDONLY));
}
