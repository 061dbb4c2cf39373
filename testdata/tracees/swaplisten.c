// SPDX-License-Identifier: Apache-2.0

// listen(2) on a number behind which a process that shares only the descriptors puts another
// socket: one without an address, which then listens on every interface. "won" if it did.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { number = 50 };
static int quiet, stray;

static int swap(void *unused) {
	(void)unused;
	for (;;) {
		dup2(stray, number);
		dup2(quiet, number);
	}
	return 0;
}

int main(int argc, char **argv) {
	int tries = atoi(argv[2]);
	stray = socket(AF_INET, SOCK_STREAM, 0);
	if (!strcmp(argv[1], "udp")) {
		quiet = socket(AF_INET, SOCK_DGRAM, 0);
	} else if (!strcmp(argv[1], "unix")) {
		struct sockaddr a = {.sa_family = AF_UNIX}; // the kernel gives it a name (unix(7))
		quiet = socket(AF_UNIX, SOCK_STREAM, 0);
		if (bind(quiet, &a, sizeof a.sa_family))
			perror("bind");
	} else {
		struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
		quiet = socket(AF_INET, SOCK_STREAM, 0);
		if (bind(quiet, (void *)&a, sizeof a))
			perror("bind");
	}
	(void)argc;
	close(open("ready", O_WRONLY));
	close(open("go", O_RDONLY));
	dup2(quiet, number);
	char *stack = malloc(65536);
	pid_t pid = clone(swap, stack + 65536, CLONE_VM | CLONE_FILES | SIGCHLD, NULL);
	int on = 0;
	for (int i = 0; i < tries && !on; i++) {
		socklen_t len = sizeof on;
		listen(number, 1);
		getsockopt(stray, SOL_SOCKET, SO_ACCEPTCONN, &on, &len);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	puts(on ? "won" : "lost");
	return 0;
}
