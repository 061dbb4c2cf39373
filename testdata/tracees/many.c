// SPDX-License-Identifier: Apache-2.0
// many does the acts of its standard input, one a line (OP PATH [PATH2]), and prints "ok" or
// the errno's name for each.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int opened(int fd)
{
	if (fd >= 0)
		close(fd);
	return fd;
}

static int run(const char *path)
{
	int status, report[2], err = 0;
	if (pipe2(report, O_CLOEXEC))
		return -1;
	pid_t pid = fork();
	if (pid == 0) {
		close(report[0]);
		execl(path, path, (char *)0);
		err = errno;
		if (write(report[1], &err, sizeof err) < 0)
			_exit(126);
		_exit(127);
	}
	close(report[1]);
	waitpid(pid, &status, 0);
	if (read(report[0], &err, sizeof err) == sizeof err)
		errno = err;
	close(report[0]);
	return err ? -1 : 0;
}

static int udp(const char *ip, int port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
	inet_pton(AF_INET, ip, &a.sin_addr);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int r = connect(fd, (void *)&a, sizeof a), keep = errno;
	close(fd);
	errno = keep;
	return r;
}

static int act(const char *op, const char *a, const char *b)
{
	struct stat st;
	if (!strcmp(op, "read"))
		return opened(open(a, O_RDONLY));
	if (!strcmp(op, "write"))
		return opened(open(a, O_WRONLY | O_CREAT, 0644));
	if (!strcmp(op, "read,write"))
		return opened(open(a, O_RDWR | O_CREAT, 0644));
	if (!strcmp(op, "list"))
		return opened(open(a, O_RDONLY | O_DIRECTORY));
	if (!strcmp(op, "look"))
		return stat(a, &st);
	if (!strcmp(op, "create"))
		return mknod(a, S_IFREG | 0644, 0);
	if (!strcmp(op, "remove"))
		return unlink(a);
	if (!strcmp(op, "attr"))
		return chmod(a, 0755);
	if (!strcmp(op, "mkdir"))
		return mkdir(a, 0755);
	if (!strcmp(op, "rename"))
		return rename(a, b);
	if (!strcmp(op, "link"))
		return link(a, b);
	if (!strcmp(op, "symlink"))
		return symlink("x", a);
	if (!strcmp(op, "exec"))
		return run(a);
	if (!strcmp(op, "udp"))
		return udp(a, atoi(b));
	errno = EINVAL;
	return -1;
}

int main(void)
{
	char line[8192];
	while (fgets(line, sizeof line, stdin)) {
		char *op = strtok(line, " \n"), *a = strtok(0, " \n"), *b = strtok(0, " \n");
		if (act(op, a, b) < 0)
			puts(strerrorname_np(errno));
		else
			puts("ok");
	}
	return 0;
}
