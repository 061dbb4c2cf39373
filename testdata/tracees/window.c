// SPDX-License-Identifier: Apache-2.0
// What the window of this process holds.
//	window own|fork|kill|send FILE MARK
// Opens FILE, which needs the window, and says which it is, by its inode, and whether MARK is in
// it. fork: a child is left behind, and its pid told. kill: it ends by SIGKILL. send: before it
// says so it sends a message with more control data than lies in a slot, and MARK at its end.
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

// The kernel passes over control data of a level that it does not know (__scm_send).
static int send_large(const char *mark) {
	static union {
		struct cmsghdr h;
		char room[CMSG_SPACE(8192)];
	} c = {.h = {.cmsg_len = CMSG_LEN(8192), .cmsg_level = 255}};
	int pair[2];
	struct iovec data = {"x", 1};
	struct msghdr m = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof c};

	strcpy((char *)CMSG_DATA(&c.h) + 8000, mark);
	return !socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) && sendmsg(pair[0], &m, 0) == 1;
}

int main(int argc, char **argv) {
	char line[512];
	unsigned long from, to, inode = 0;
	int found = 0;
	FILE *maps;

	if (argc != 4 || open(argv[2], O_RDONLY | O_CLOEXEC) < 0 || !(maps = fopen("/proc/self/maps", "r")))
		return 2;
	if (!strcmp(argv[1], "send") && !send_large(argv[3]))
		return 3;
	while (fgets(line, sizeof line, maps)) {
		if (!strstr(line, "memfd:ptguard") || sscanf(line, "%lx-%lx %*s %*s %*s %lu", &from, &to, &inode) != 3)
			continue;
		if (memmem((void *)from, to - from, argv[3], strlen(argv[3])))
			found = 1;
	}
	printf("%lu %s\n", inode, found ? "found" : "none");
	fflush(stdout);
	if (!strcmp(argv[1], "fork")) {
		pid_t child = fork();
		if (child == 0) {
			fclose(stdout);
			for (;;)
				pause();
		}
		printf("%d child\n", child);
	}
	if (!strcmp(argv[1], "kill"))
		kill(getpid(), SIGKILL);
	return 0;
}
