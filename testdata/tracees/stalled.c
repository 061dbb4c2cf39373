// SPDX-License-Identifier: Apache-2.0
//
// stalled GATE: under stallfs. Five processes that wait for its file system, each in another way,
// and one that works on until all wait, and then opens the gate. Prints what came of each.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void told(const char *what, int result)
{
	printf("%s %s\n", what, result < 0 ? strerror(errno) : "done");
	fflush(stdout);
	_exit(0);
}

int main(int argc, char **argv)
{
	char name[4200];
	static const char *all[] = {"late", "page", "new", "3", "script"};
	pid_t pid[5];
	for (int i = 0; i < 5; i++) {
		if ((pid[i] = fork()) != 0)
			continue;
		if (i == 0) // the walk
			told("late", open("mnt/1/late", O_WRONLY));
		if (i == 1) { // the text of the path
			int fd = open("mnt/page", O_RDONLY);
			const char *text = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
			told("page", open(text, O_WRONLY | O_CREAT, 0644));
		}
		if (i == 2) // the act
			told("new", mkdir("mnt/2/new", 0755));
		if (i == 3) { // the names in a directory
			DIR *d = opendir("mnt/3");
			struct dirent *e = readdir(d);
			told(e && !strcmp(e->d_name, "shown") && !readdir(d) ? "list" : "another list", 0);
		}
		execl("mnt/script", "script", NULL); // the first bytes of a program
		told("script", -1);
	}
	for (int i = 0; i < 5; i++) {
		snprintf(name, sizeof name, "%s.%s", argv[1], all[i]);
		while (access(name, F_OK)) { // and works
			close(open("work", O_WRONLY | O_CREAT, 0644));
			unlink("work");
		}
	}
	for (int i = 0; i < 100; i++) {
		close(open("work", O_WRONLY | O_CREAT, 0644));
		if (unlink("work"))
			perror("unlink");
	}
	printf("works\n");
	fflush(stdout);
	close(open(argv[1], O_WRONLY | O_CREAT, 0644));
	for (int i = 0; i < 5; i++)
		waitpid(pid[i], NULL, 0);
	return 0;
}
