// SPDX-License-Identifier: Apache-2.0
// denials FOLDER N: makes N files in a folder, no two of a name, and prints how many there
// are and how many were refused.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[2]) : 0, made = 0, refused = 0;
	char name[4096];
	for (long i = 0; i < n; i++) {
		snprintf(name, sizeof name, "%s/%ld", argv[1], i);
		int fd = open(name, O_WRONLY | O_CREAT, 0644);
		if (fd >= 0) {
			made++;
			close(fd);
			unlink(name);
		} else if (errno == EPERM) {
			refused++;
		}
	}
	printf("made %ld refused %ld\n", made, refused);
	return 0;
}
