// SPDX-License-Identifier: Apache-2.0
// A daemon by the book: fork, setsid, fork; the grandchild waits for the file "go", tries
// to open argv[1] for writing, writes the errno's name to "daemon.out" and ends.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (fork())
		return 4; // the status of the run
	setsid();
	if (fork())
		_exit(0);
	close(0);
	close(1);
	close(2);
	while (access("go", F_OK))
		usleep(1000);
	int e = open(argv[argc - 1], O_WRONLY) < 0 ? errno : 0;
	FILE *f = fopen("daemon.tmp", "w");
	fprintf(f, "%s\n", e ? strerrorname_np(e) : "ok");
	fclose(f);
	rename("daemon.tmp", "daemon.out");
	return 11;
}
