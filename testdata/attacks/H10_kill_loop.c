// SPDX-License-Identifier: Apache-2.0
//
// H10, H13: children are killed at any moment of their stops; the secret is never read.
#include "cfgh.h"

int main(void)
{
	int *won = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned seed = 1;
	for (int i = 0; i < 300; i++) {
		pid_t pid = fork();
		must(pid, "fork");
		if (pid == 0)
			for (;;) {
				*won += is_secret(open("secret", O_RDONLY));
				close(open("k", O_CREAT | O_WRONLY, 0644));
				unlink("k");
			}
		usleep((unsigned)rand_r(&seed) % 2000);
		kill(pid, SIGKILL);
		must(waitpid(pid, NULL, 0), "waitpid");
	}
	errno = EPERM;
	verdict(*won ? 0 : -1);
}
