// SPDX-License-Identifier: Apache-2.0
//
// connect: to a unix socket whose server does not accept and whose queue is full: a signal ends
// the waiting, a non-blocking one does not wait, and one whose process is killed is not made.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static struct sockaddr_un server = {.sun_family = AF_UNIX, .sun_path = "server"};

static const char *connected(int flags)
{
	int s = socket(AF_UNIX, SOCK_STREAM | flags, 0);
	return connect(s, (void *)&server, sizeof server) ? strerrorname_np(errno) : "ok";
}

static void handler(int sig) {}

int main(void)
{
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0), n = 0;
	bind(s, (void *)&server, sizeof server);
	listen(s, 0);
	printf("first %s\n", connected(0));
	printf("non-blocking %s\n", connected(SOCK_NONBLOCK));
	struct sigaction act = {.sa_handler = handler};
	sigaction(SIGALRM, &act, NULL);
	struct itimerval every = {{0, 100000}, {0, 100000}}, off = {{0, 0}, {0, 0}};
	setitimer(ITIMER_REAL, &every, NULL);
	printf("alarmed %s\n", connected(0));
	setitimer(ITIMER_REAL, &off, NULL);
	fflush(stdout);
	int p[2];
	pipe(p);
	pid_t pid = fork();
	if (pid == 0) {
		write(p[1], "x", 1);
		connected(0);
		_exit(0);
	}
	char c;
	read(p[0], &c, 1);
	usleep(200000); // for the test to mean something; it passes without
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	usleep(200000);
	while (accept(s, NULL, NULL) >= 0)
		n++;
	printf("%d to accept\n", n);
	return 0;
}
