// SPDX-License-Identifier: Apache-2.0
// repeat ACT N FILE: makes one kind of call N times, each of which succeeds.
#define _GNU_SOURCE
#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static void must(int result, const char *what)
{
	if (result < 0)
		error(1, errno, "%s", what);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		error(2, 0, "want ACT N FILE");
	const char *act = argv[1], *file = argv[3];
	long n = atol(argv[2]);
	char other[4096], *name = strrchr(argv[3], '/') + 1;
	snprintf(other, sizeof other, "%s.2", file);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct iovec text = {"x", 1};
	struct msghdr message = {.msg_iov = &text, .msg_iovlen = 1};
	int pair[2], server = -1;
	must(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), "socketpair");
	if (!strcmp(act, "connect")) {
		snprintf(address.sun_path, sizeof address.sun_path, "/tmp/repeat-%d", getpid());
		server = socket(AF_UNIX, SOCK_STREAM, 0);
		must(bind(server, (struct sockaddr *)&address, sizeof address), "bind");
		must(listen(server, 1), "listen");
	}
	for (long i = 0; i < n; i++) {
		int fd = -1;
		if (!strcmp(act, "open")) {
			must(fd = open(file, O_RDONLY), act);
		} else if (!strcmp(act, "relative")) {
			must(fd = open(name, O_RDONLY), act);
		} else if (!strcmp(act, "write")) {
			must(fd = open(file, O_WRONLY | O_CREAT, 0644), act);
		} else if (!strcmp(act, "unlink")) {
			must(fd = open(other, O_WRONLY | O_CREAT, 0644), act);
			must(unlink(other), act);
		} else if (!strcmp(act, "rename")) {
			must(rename(i % 2 ? other : file, i % 2 ? file : other), act);
		} else if (!strcmp(act, "mkdir")) {
			must(mkdir(other, 0755), act);
			must(rmdir(other), act);
		} else if (!strcmp(act, "chmod")) {
			must(chmod(file, 0644), act);
		} else if (!strcmp(act, "access")) {
			must(access(file, R_OK), act);
		} else if (!strcmp(act, "sendmsg")) {
			char c;
			must(sendmsg(pair[0], &message, 0), act);
			must(recv(pair[1], &c, 1, 0), act);
		} else if (!strcmp(act, "connect")) {
			must(fd = socket(AF_UNIX, SOCK_STREAM, 0), "socket");
			must(connect(fd, (struct sockaddr *)&address, sizeof address), act);
			close(accept(server, NULL, NULL));
		} else {
			error(2, 0, "unknown act %s", act);
		}
		if (fd >= 0)
			close(fd);
	}
	if (server >= 0)
		unlink(address.sun_path);
	return 0;
}
