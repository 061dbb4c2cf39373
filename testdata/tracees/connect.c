// SPDX-License-Identifier: Apache-2.0
//
// connect: a connect to a unix socket, and a datagram to one, whose server does not accept and whose queue is full: a signal ends
// the waiting, or under SA_RESTART does not, nor do a stop and a signal that is ignored; a
// non-blocking one does not wait, and one whose process is killed is not made.
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

static int listener, queue;
static volatile int alarms, room; // 1: in the queue of the listener, 2: of the datagrams

static const char *connectedIn(int flags, int seconds)
{
	int s = socket(AF_UNIX, SOCK_STREAM | flags, 0);
	struct timeval limit = {seconds, 0};
	setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
	return connect(s, (void *)&server, sizeof server) ? strerrorname_np(errno) : "ok";
}

static const char *connected(int flags) { return connectedIn(flags, 0); }

// sent fills the queue of a datagram socket, and waits for room in it.
static const char *sent(void)
{
	static struct sockaddr_un to = {.sun_family = AF_UNIX, .sun_path = "queue"};
	int s = socket(AF_UNIX, SOCK_DGRAM, 0);
	while (sendto(s, "x", 1, MSG_DONTWAIT, (void *)&to, sizeof to) == 1)
		;
	return sendto(s, "x", 1, 0, (void *)&to, sizeof to) < 0 ? strerrorname_np(errno) : "ok";
}

static void handler(int sig) {}

// third makes room in a queue at each third signal.
static void third(int sig)
{
	int e = errno;
	char c;
	if (++alarms % 3)
		; // so that most of them come while it waits
	else if (room == 1)
		accept(listener, NULL, NULL);
	else if (room == 2)
		recv(queue, &c, 1, MSG_DONTWAIT);
	errno = e;
}

int main(void)
{
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0), n = 0;
	bind(s, (void *)&server, sizeof server);
	listen(s, 0);
	listener = s;
	queue = socket(AF_UNIX, SOCK_DGRAM, 0);
	strcpy(server.sun_path, "queue");
	bind(queue, (void *)&server, sizeof server);
	strcpy(server.sun_path, "server");
	printf("first %s\n", connected(0));
	printf("non-blocking %s\n", connected(SOCK_NONBLOCK));
	struct sigaction act = {.sa_handler = handler};
	sigaction(SIGALRM, &act, NULL);
	struct itimerval every = {{0, 100000}, {0, 100000}}, off = {{0, 0}, {0, 0}};
	setitimer(ITIMER_REAL, &every, NULL);
	printf("alarmed %s\n", connected(0));
	printf("datagram alarmed %s\n", sent());
	act.sa_handler = third;
	act.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &act, NULL);
	room = 1;
	printf("restarted %s\n", connected(0));
	room = 2;
	printf("datagram restarted %s\n", sent());
	room = 0;
	while (*connected(SOCK_NONBLOCK) == 'o')
		; // full again
	printf("limited %s\n", connectedIn(0, 100));
	setitimer(ITIMER_REAL, &off, NULL);
	fflush(stdout);
	pid_t waiter = fork();
	if (waiter == 0) {
		pid_t child = fork(); // its end is a signal that is ignored by default
		if (child == 0) {
			usleep(300000);
			_exit(0);
		}
		printf("stopped %s\n", connected(0));
		fflush(stdout);
		waitpid(child, NULL, 0);
		_exit(0);
	}
	usleep(200000); // for the test to mean something
	kill(waiter, SIGSTOP);
	kill(waiter, SIGCONT);
	usleep(200000);
	accept(s, NULL, NULL);
	waitpid(waiter, NULL, 0);
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
