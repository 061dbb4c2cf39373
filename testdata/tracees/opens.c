// SPDX-License-Identifier: Apache-2.0
// opens PART does opens of every kind and says what came of them: errno, or the descriptor's
// status flags, mode, and what is behind it. The current directory must be empty and
// writable. No line depends on inode numbers, pids or the time of day.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static void must(long r, const char *what)
{
	if (r < 0) {
		printf("opens: %s: %m\n", what);
		exit(3);
	}
}

static void show(const char *what, int fd)
{
	struct stat st;
	if (fd < 0) {
		printf("%s: %s\n", what, strerrorname_np(errno));
		return;
	}
	must(fstat(fd, &st), "fstat");
	printf("%s: flags %o cloexec %d mode %o size %ld links %d\n", what, fcntl(fd, F_GETFL), fcntl(fd, F_GETFD), st.st_mode, S_ISREG(st.st_mode) ? (long)st.st_size : 0, (int)st.st_nlink);
	close(fd);
}

static void text(const char *name, const char *content, int mode)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	must(fd, name);
	must(write(fd, content, strlen(content)), name);
	must(fchmod(fd, mode), name);
	close(fd);
}

static void fixtures(void)
{
	text("f", "12345", 0644);
	text("none", "secret", 0);
	must(mkdir("d", 0755), "d");
	must(symlink("f", "l"), "l");
	must(symlink("d", "dl"), "dl");
	must(symlink("new", "dang"), "dang");
	must(symlink("loop", "loop"), "loop");
	must(symlink("f/", "slash"), "slash");
	must(mkfifo("p", 0644), "p");
	struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = "s"};
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	must(bind(s, (void *)&un, sizeof un), "bind");
	close(s);
}

// flags: every useful pair of bits on every kind of name, by all four calls.
static void flags(void)
{
	static const char *names[] = {"f", "none", "d", "l", "dl", "dang", "loop", "slash", "p", "s", "new", "d/", "f/", "l/", "dl/", "new/", "d/.", "absent/x", "f/x", "", "."};
	static const int bits[] = {0, O_CREAT, O_EXCL, O_NOCTTY, O_TRUNC, O_APPEND, O_DSYNC, O_ASYNC, O_DIRECT, 0100000, O_DIRECTORY, O_NOFOLLOW, O_NOATIME, O_CLOEXEC, O_SYNC, O_PATH, 020000000, 1 << 23, 1 << 27, 1 << 30, (int)(1u << 31), O_CREAT | O_EXCL, O_CREAT | O_NOFOLLOW, O_CREAT | O_DIRECTORY, O_PATH | O_NOFOLLOW, O_TMPFILE, O_TMPFILE | O_EXCL};
	static const int access[] = {O_RDONLY, O_WRONLY, O_RDWR, 3};
	static const unsigned modes[] = {0, 0666, 07777, 0xffffffff};
	char what[200];
	int n = 0;
	fixtures();
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		for (unsigned b = 0; b < sizeof bits / sizeof *bits; b++)
			for (unsigned a = 0; a < 4; a++) {
				int f = bits[b] | access[a] | O_NONBLOCK; // no FIFO may hold us up here
				unsigned mode = modes[n++ % 4];
				umask(n % 3 == 0 ? 077 : n % 3 == 1 ? 022 : 0);
				snprintf(what, sizeof what, "open %s %o %o", names[i], f, mode);
				show(what, syscall(SYS_openat, AT_FDCWD, names[i], f, mode));
				unlink("new");
				if (n % 4 == 0) {
					struct open_how how = {(unsigned)f, mode, 0};
					snprintf(what, sizeof what, "openat2 %s %o %o", names[i], f, mode);
					show(what, syscall(SYS_openat2, AT_FDCWD, names[i], &how, sizeof how));
					unlink("new");
				}
#ifdef SYS_open
				if (n % 5 == 0) {
					snprintf(what, sizeof what, "old open %s %o %o", names[i], f, mode);
					show(what, syscall(SYS_open, names[i], f, mode));
					unlink("new");
				}
				if (a == 0 && b < 4 && strcmp(names[i], "p")) {
					snprintf(what, sizeof what, "creat %s %o", names[i], mode);
					show(what, syscall(SYS_creat, names[i], mode));
					unlink("new");
				}
#endif
				if (access[a] != O_RDONLY)
					text("f", "12345", 0644);
			}
}

// resolve: RESOLVE_* that the program gives itself, and bad structures.
static void resolve(void)
{
	static const char *names[] = {"f", "l", "d/../f", "../x", "/etc/passwd", "/proc/self/exe", "/proc/self/fd/0", "d/up", "dl/.", "..", "/"};
	static const uint64_t bits[] = {0, RESOLVE_NO_XDEV, RESOLVE_NO_MAGICLINKS, RESOLVE_NO_SYMLINKS, RESOLVE_BENEATH, RESOLVE_IN_ROOT, RESOLVE_BENEATH | RESOLVE_IN_ROOT, 1 << 20};
	char what[200], big[64];
	fixtures();
	must(symlink("../f", "d/up"), "up");
	int dir = open("d", O_PATH | O_DIRECTORY);
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		for (unsigned b = 0; b < sizeof bits / sizeof *bits; b++)
			for (int from = 0; from < 2; from++) {
				struct open_how how = {O_RDONLY | O_CLOEXEC, 0, bits[b]};
				snprintf(what, sizeof what, "%s %s %lx", from ? "from d" : "here", names[i], (long)bits[b]);
				long fd;
				do // EAGAIN: somebody on the machine renamed or mounted meanwhile (openat2(2))
					fd = syscall(SYS_openat2, from ? dir : AT_FDCWD, names[i], &how, sizeof how);
				while (fd < 0 && errno == EAGAIN && bits[b] & (RESOLVE_BENEATH | RESOLVE_IN_ROOT));
				show(what, fd);
			}
	struct open_how how = {O_RDONLY, 0, 0};
	memset(big, 0, sizeof big);
	memcpy(big, &how, sizeof how);
	show("larger", syscall(SYS_openat2, AT_FDCWD, "f", big, sizeof big));
	big[40] = 1;
	show("larger, unknown", syscall(SYS_openat2, AT_FDCWD, "f", big, sizeof big));
	show("smaller", syscall(SYS_openat2, AT_FDCWD, "f", &how, 8L));
	show("none", syscall(SYS_openat2, AT_FDCWD, "f", NULL, sizeof how));
	how.mode = 0600;
	show("mode without creat", syscall(SYS_openat2, AT_FDCWD, "f", &how, sizeof how));
	how.flags = O_CREAT | O_WRONLY;
	how.mode = 0100600;
	show("mode of a type", syscall(SYS_openat2, AT_FDCWD, "new", &how, sizeof how));
	how.flags = 1ull << 40;
	show("flag 40", syscall(SYS_openat2, AT_FDCWD, "f", &how, sizeof how));
}

static void by_number(const char *what, int fd, int flags)
{
	char path[64], line[200];
	static const char *forms[] = {"/proc/self/fd/%d", "/dev/fd/%d", "/proc/thread-self/fd/%d"};
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof path, forms[i], fd);
		snprintf(line, sizeof line, "%s by %s %o", what, forms[i], flags);
		show(line, open(path, flags));
	}
}

// magic: descriptors by their names in /proc.
static void magic(void)
{
	static const int all[] = {O_RDONLY, O_WRONLY, O_RDWR, O_RDONLY | O_NONBLOCK, O_WRONLY | O_APPEND | O_CLOEXEC, O_PATH, O_RDONLY | O_NOFOLLOW, O_PATH | O_NOFOLLOW, O_CREAT | O_WRONLY, O_RDONLY | O_DIRECTORY};
	int pair[2], pp[2];
	fixtures();
	must(pipe(pp), "pipe");
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "socketpair");
	int mem = memfd_create("m", 0);
	must(write(mem, "memory", 6), "memfd");
	int sealed = memfd_create("s", MFD_ALLOW_SEALING);
	must(fcntl(sealed, F_ADD_SEALS, F_SEAL_WRITE), "seal");
	text("gone", "deleted", 0640);
	int gone = open("gone", O_RDWR);
	must(unlink("gone"), "unlink");
	int tmp = open(".", O_TMPFILE | O_RDWR, 0600);
	must(tmp, "tmpfile");
	int file = open("f", O_RDONLY), dir = open("d", O_RDONLY), path = open("f", O_PATH), link = open("l", O_PATH | O_NOFOLLOW), fifo = open("p", O_RDWR);
	for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
		by_number("pipe 0", pp[0], all[i] | O_NONBLOCK);
		by_number("pipe 1", pp[1], all[i]);
		by_number("socket", pair[0], all[i]);
		by_number("memfd", mem, all[i]);
		by_number("sealed", sealed, all[i]);
		by_number("gone", gone, all[i]);
		by_number("tmpfile", tmp, all[i]);
		by_number("file", file, all[i]);
		by_number("dir", dir, all[i]);
		by_number("path", path, all[i]);
		by_number("link", link, all[i]);
		by_number("fifo", fifo, all[i]);
		show("stdin", open("/dev/stdin", all[i]));
		show("self", open("/proc/self/cwd", all[i]));
		show("exe", open("/proc/self/exe", all[i]));
		if ((all[i] & O_ACCMODE) == O_RDONLY)
			show("status", open("/proc/self/status", all[i]));
		show("root", open("/proc/self/root", all[i]));
		show("null", open("/dev/null", all[i]));
		show("zero", open("/dev/zero", all[i]));
		show("tty", open("/dev/tty", all[i]));
	}
	by_number("absent", 999, O_RDONLY);
	// A pipe that was opened again is the same pipe.
	char name[64], c = 0;
	snprintf(name, sizeof name, "/dev/fd/%d", pp[1]);
	int again = open(name, O_WRONLY);
	must(write(again, "x", 1), "write");
	must(read(pp[0], &c, 1), "read");
	printf("through the pipe: %c\n", c);
}

// who: opens after the rights have changed, of what has no name.
static void dropped(void)
{
	if (geteuid() == 0)
		must(chown(".", 65534, 65534) | setresgid(65534, 65534, 65534) | setresuid(65534, 65534, 65534), "drop");
	int pp[2], mem = memfd_create("m", 0);
	must(pipe(pp), "pipe");
	must(mem, "memfd");
	int tmp = open(".", O_TMPFILE | O_RDWR, 0600);
	must(tmp, "tmpfile");
	text("gone", "deleted", 0600);
	int gone = open("gone", O_RDWR);
	must(unlink("gone"), "unlink");
	by_number("pipe", pp[0], O_RDONLY | O_NONBLOCK);
	by_number("pipe", pp[1], O_WRONLY);
	by_number("memfd", mem, O_RDWR);
	by_number("tmpfile", tmp, O_RDWR);
	by_number("gone", gone, O_RDONLY);
	show("shadow", open("/etc/shadow", O_RDONLY));
	show("made", open("made", O_WRONLY | O_CREAT, 0666));
}

static volatile int handled;
static sigjmp_buf jump;
static void handler(int sig)
{
	handled++;
	(void)sig;
}
static void jumper(int sig)
{
	(void)sig;
	siglongjmp(jump, 1);
}

// asleep waits until a task sleeps in an open: its state and its call say so.
static void asleep(int tid)
{
	char path[64], state;
	for (;;) {
		snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
		FILE *f = fopen(path, "re");
		if (!f)
			continue;
		int n = fscanf(f, "%*d %*s %c", &state);
		fclose(f);
		if (n == 1 && state == 'S')
			return;
		sched_yield();
	}
}

static volatile int tid_of;
static void *blocked(void *name)
{
	__atomic_store_n(&tid_of, gettid(), __ATOMIC_SEQ_CST);
	return (void *)(long)open(name, O_RDONLY);
}

static pthread_t start(void *name)
{
	pthread_t t;
	tid_of = 0;
	must(-pthread_create(&t, NULL, blocked, name), "thread");
	while (!__atomic_load_n(&tid_of, __ATOMIC_SEQ_CST))
		sched_yield();
	asleep(tid_of);
	return t;
}

// waits: opens of a FIFO that wait, and what ends the wait.
static void waits(void)
{
	void *r;
	fixtures();
	// a writer comes
	pthread_t t = start("p");
	int w = open("p", O_WRONLY);
	pthread_join(t, &r);
	show("met", (int)(long)r);
	close(w);
	// a handler, restarting and not
	for (int restart = 0; restart < 2; restart++) {
		struct sigaction sa = {.sa_handler = handler, .sa_flags = restart ? SA_RESTART : 0};
		sigaction(SIGUSR1, &sa, NULL);
		handled = 0;
		t = start("p");
		pthread_kill(t, SIGUSR1);
		while (!handled)
			sched_yield();
		if (restart) {
			asleep(tid_of);
			w = open("p", O_WRONLY);
			pthread_join(t, &r);
			show("restarted", (int)(long)r);
			close(w);
		} else {
			pthread_join(t, &r);
			printf("not restarted: %ld, handled %d\n", (long)r, handled);
		}
	}
	// cancelled
	t = start("p");
	pthread_cancel(t);
	pthread_join(t, &r);
	printf("cancelled: %d\n", r == PTHREAD_CANCELED);
	// a handler on its own stack that jumps out, more often than there are frames
	stack_t ss = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
	sigaltstack(&ss, NULL);
	struct sigaction sa = {.sa_handler = jumper, .sa_flags = SA_ONSTACK};
	sigaction(SIGALRM, &sa, NULL);
	volatile int jumps = 0;
	for (volatile int i = 0; i < 40; i++) {
		if (sigsetjmp(jump, 1) == 0) {
			ualarm(2000, 0);
			open("p", O_RDONLY);
			printf("the open came back: %m\n");
		} else {
			jumps++;
		}
		show("after a jump", open("f", O_RDONLY));
	}
	printf("jumps %d\n", jumps);
	// an exclusive writer without reader, and a killed child
	show("no reader", open("p", O_WRONLY | O_NONBLOCK));
	pid_t pid = fork();
	if (pid == 0) {
		open("p", O_RDONLY);
		_exit(1);
	}
	kill(pid, SIGTERM);
	int status;
	waitpid(pid, &status, 0);
	printf("killed by %d\n", WTERMSIG(status));
}

static void ticks(int sig)
{
	(void)sig;
	int e = errno, fd = open("f", O_RDONLY | O_CLOEXEC); // an open within an open
	if (fd < 0)
		_exit(9);
	close(fd);
	handled++;
	errno = e;
}

static void *many(void *arg)
{
	char name[32], c;
	long n = (long)arg, bad = 0;
	snprintf(name, sizeof name, "m%ld", n);
	for (int i = 0; i < 20; i++) {
		int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		c = 0;
		bad += fd < 0 || pwrite(fd, &n, 1, 0) != 1 || pread(fd, &c, 1, 0) != 1 || c != (char)n;
		close(fd);
		fd = open("f", O_RDONLY | O_CLOEXEC);
		bad += fd < 0 || read(fd, &c, 1) != 1 || c != '1';
		close(fd);
	}
	return (void *)bad;
}

// crowd: 200 threads at once, a timer that opens within opens, vfork and open.
static void crowd(void)
{
	pthread_t t[200];
	long bad = 0;
	void *r;
	fixtures();
	for (long i = 0; i < 200; i++)
		must(-pthread_create(&t[i], NULL, many, (void *)i), "thread");
	for (int i = 0; i < 200; i++) {
		pthread_join(t[i], &r);
		bad += (long)r;
	}
	printf("200 threads: %ld bad\n", bad);
	struct sigaction sa = {.sa_handler = ticks, .sa_flags = SA_RESTART};
	sigaction(SIGALRM, &sa, NULL);
	ualarm(1000, 1000);
	for (int i = 0; i < 2000 || handled < 20; i++) {
		int fd = open("none", O_PATH | O_CLOEXEC);
		bad += fd < 0;
		close(fd);
		fd = open("l", O_RDONLY | O_CLOEXEC);
		bad += fd < 0;
		close(fd);
	}
	ualarm(0, 0);
	printf("under a timer: %ld bad\n", bad);
	for (int i = 0; i < 20; i++) {
		volatile int fd = -1;
		pid_t pid = vfork();
		if (pid == 0) {
			fd = open("f", O_RDONLY | O_CLOEXEC);
			_exit(fd < 0);
		}
		int status;
		waitpid(pid, &status, 0);
		bad += status != 0;
		fd = open("f", O_RDONLY | O_CLOEXEC);
		bad += fd < 0;
		close(fd);
	}
	printf("vfork: %ld bad\n", bad);
}

// places: where the current directory is no ordinary one.
static void places(void)
{
	fixtures();
	text("d/in", "in", 0644);
	must(mkdir("wall", 0755), "wall");
	must(mkdir("wall/in", 0755), "wall/in");
	must(chdir("wall/in"), "chdir");
	text("f", "behind", 0644);
	must(symlink("f", "l"), "l");
	must(mkfifo("p", 0600), "p");
	must(chmod("..", 0), "chmod ..");
	if (geteuid() == 0)
		must(setresgid(65534, 65534, 65534) | setresuid(65534, 65534, 65534), "drop");
	show("behind a wall", open("f", O_RDONLY));
	show("its link", open("l", O_RDONLY));
	show("new", open("n", O_WRONLY | O_CREAT, 0644));
	show("in it", open(".", O_RDONLY));
	show("path", open("f", O_PATH));
	show("up", open("../in/f", O_RDONLY));
	show("exclusive", open("f", O_RDONLY | O_CREAT | O_EXCL, 0644));
	show("write", open("f", O_WRONLY));
	show("fifo", open("p", O_RDONLY | O_NONBLOCK));
	chmod("..", 0755); // for whoever cleans up, if it is ours
}

static void deep(void)
{
	char name[201];
	must(mkdir("top", 0755), "top");
	must(chdir("top"), "top");
	memset(name, 'n', 200);
	name[200] = 0;
	for (int i = 0; i < 25; i++) { // 5000 bytes
		must(mkdir(name, 0755), "deep");
		must(chdir(name), "deep");
	}
	text("f", "deep", 0640);
	must(symlink("f", "l"), "l");
	show("deep", open("f", O_RDWR));
	show("its link", open("l", O_RDONLY));
	show("new", open("n", O_WRONLY | O_CREAT, 0666));
	show("again", open("n", O_WRONLY | O_CREAT | O_EXCL, 0666));
	show("directory", open(".", O_RDONLY | O_DIRECTORY));
	show("tmpfile", open(".", O_RDWR | O_TMPFILE, 0600));
	int dir = open(".", O_PATH);
	show("by descriptor", openat(dir, "f", O_RDONLY));
	show("absent", openat(dir, "absent", O_RDONLY));
	show("truncated", open("f", O_RDWR | O_TRUNC));
	printf("unlink %d", unlink("n"));
	printf(" mkdir %d\n", mkdir("x", 0700));
	for (int i = 0; i < 26; i++)
		must(chdir(".."), "..");
	// renamed and deleted
	must(mkdir("a", 0755) | chdir("a"), "a");
	text("f", "here", 0644);
	must(rename("../a", "../b"), "rename");
	show("renamed", open("f", O_RDONLY));
	show("new in renamed", open("g", O_WRONLY | O_CREAT, 0600));
	must(unlink("f") | unlink("g") | rmdir("../b"), "rmdir");
	show("deleted", open("f", O_RDONLY));
	show("deleted, new", open("g", O_WRONLY | O_CREAT, 0600));
	show("deleted itself", open(".", O_RDONLY));
	show("above deleted", open("../top", O_RDONLY));
	show("tmpfile in deleted", open(".", O_TMPFILE | O_RDWR, 0600));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*part)(void);
	} parts[] = {{"flags", flags}, {"resolve", resolve}, {"magic", magic}, {"dropped", dropped}, {"waits", waits}, {"crowd", crowd}, {"places", places}, {"deep", deep}};
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	umask(022);
	for (unsigned i = 0; argc > 1 && i < sizeof parts / sizeof *parts; i++)
		if (!strcmp(argv[1], parts[i].name)) {
			parts[i].part();
			return 0;
		}
	return 2;
}
