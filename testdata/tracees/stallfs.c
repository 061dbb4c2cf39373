// SPDX-License-Identifier: Apache-2.0
//
// stallfs MNT GATE CMD ARG…: mounts a FUSE file system at MNT, in a mount name space of its own,
// and executes CMD. The server does not answer looking up "1/late", reading "page" and "script",
// making "2/new" and listing "3" before the file GATE exists; GATE.late, GATE.page … tell that it was asked.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

// A stalled step holds its directory, so each has its own.
enum { ROOT = 1, PAGE, LATE, SCRIPT, NEW, DIR1, DIR2, DIR3, NODES };
static const char *names[NODES] = {0, 0, "page", "late", "script", "new", "1", "2", "3"};
static const char script[] = "#!/bin/sh\necho ran\n";
static const char *gate;
static int fuse, made;

static void answer(uint64_t unique, int error, const void *data, size_t size)
{
	struct fuse_out_header h = {.len = sizeof h + size, .error = error, .unique = unique};
	struct iovec v[2] = {{&h, sizeof h}, {(void *)data, size}};
	if (writev(fuse, v, size ? 2 : 1) < 0 && errno != ENOENT)
		perror("stallfs: answer");
}

static struct fuse_attr attr(uint64_t node)
{
	int dir = node == ROOT || node >= NEW;
	return (struct fuse_attr){.ino = node, .mode = dir ? S_IFDIR | 0755 : node == SCRIPT ? S_IFREG | 0755 : S_IFREG | 0644,
		.nlink = 1, .size = dir ? 0 : node == SCRIPT ? sizeof script - 1 : 4096, .blksize = 4096};
}

// Nothing is remembered by the kernel: every step of a path asks.
static void entry(uint64_t unique, uint64_t node)
{
	struct fuse_entry_out e = {.nodeid = node, .attr = attr(node)};
	answer(unique, 0, &e, sizeof e);
}

struct late {
	uint64_t unique, node;
	int op;
};

static void finish(struct late *q)
{
	static char page[4096] = "written";
	if (q->op == FUSE_READ && q->node == SCRIPT)
		answer(q->unique, 0, script, sizeof script - 1);
	else if (q->op == FUSE_READDIR) {
		struct {
			struct fuse_dirent d;
			char name[8];
		} one = {.d = {.ino = PAGE, .off = 1, .namelen = 5, .type = DT_REG}};
		memcpy(one.d.name, "shown", 5);
		answer(q->unique, 0, &one, FUSE_DIRENT_SIZE(&one.d));
	} else if (q->op == FUSE_READ)
		answer(q->unique, 0, page, sizeof page);
	else
		entry(q->unique, q->node);
	made |= q->op == FUSE_MKDIR;
}

static void *wait_for_gate(void *arg)
{
	while (access(gate, F_OK))
		usleep(2000);
	finish(arg);
	return NULL;
}

static void stall(uint64_t unique, uint64_t node, int op)
{
	struct late *q = malloc(sizeof *q);
	*q = (struct late){unique, node, op};
	char told[4200];
	snprintf(told, sizeof told, "%s.%s", gate, names[node]);
	close(open(told, O_CREAT | O_WRONLY, 0644));
	pthread_t t;
	pthread_create(&t, NULL, wait_for_gate, q);
}

static void serve(void)
{
	static char in[1 << 17];
	for (;;) {
		ssize_t n = read(fuse, in, sizeof in);
		if (n < 0 && (errno == EINTR || errno == ENOENT || errno == EPERM)) {
			usleep(500); // not mounted yet
			continue;
		}
		if (n < 0)
			return; // unmounted
		struct fuse_in_header *h = (void *)in;
		char *arg = (char *)(h + 1);
		switch (h->opcode) {
		case FUSE_INIT: {
			struct fuse_init_out o = {.major = 7, .minor = 31, .max_write = 65536};
			answer(h->unique, 0, &o, sizeof o);
			break;
		}
		case FUSE_LOOKUP: {
			int node = 0;
			for (int i = PAGE; i < NODES; i++)
				if (!strcmp(arg, names[i]))
					node = i;
			if (node == LATE)
				stall(h->unique, LATE, FUSE_LOOKUP);
			else if (node == 0 || (node == NEW && !made))
				answer(h->unique, -ENOENT, NULL, 0);
			else
				entry(h->unique, node);
			break;
		}
		case FUSE_GETATTR: {
			struct fuse_attr_out o = {.attr = attr(h->nodeid)};
			answer(h->unique, 0, &o, sizeof o);
			break;
		}
		case FUSE_MKDIR:
			stall(h->unique, NEW, FUSE_MKDIR);
			break;
		case FUSE_READDIR:
			if (((struct fuse_read_in *)arg)->offset == 0)
				stall(h->unique, h->nodeid, FUSE_READDIR);
			else
				answer(h->unique, 0, NULL, 0);
			break;
		case FUSE_OPENDIR:
		case FUSE_OPEN: {
			struct fuse_open_out o = {0};
			answer(h->unique, 0, &o, sizeof o);
			break;
		}
		case FUSE_READ:
			stall(h->unique, h->nodeid, FUSE_READ);
			break;
		case FUSE_FLUSH:
		case FUSE_RELEASE:
		case FUSE_RELEASEDIR:
		case FUSE_ACCESS:
			answer(h->unique, 0, NULL, 0);
			break;
		case FUSE_INTERRUPT:
		case FUSE_FORGET:
		case FUSE_BATCH_FORGET:
			break;
		default:
			answer(h->unique, -ENOSYS, NULL, 0);
		}
	}
}

static void *serving(void *arg)
{
	serve();
	return arg;
}

int main(int argc, char **argv)
{
	char options[128];
	int status;
	gate = argv[2];
	fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=%d,group_id=%d", fuse, getuid(), getgid());
	pid_t pid = fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
			mount("stallfs", argv[1], "fuse", MS_NOSUID | MS_NODEV, options)) {
			perror("stallfs: mount");
			_exit(9);
		}
		execvp(argv[3], argv + 3);
		perror("stallfs: exec");
		_exit(9);
	}
	pthread_t t;
	pthread_create(&t, NULL, serving, NULL);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 8;
}
