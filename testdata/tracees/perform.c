// SPDX-License-Identifier: Apache-2.0
// perform WHO UMASK [DIR [ACT]] does every call that makes, removes or describes names once,
// each in fixtures of its own in every kind of directory (or in DIR only), or only the acts
// whose text holds ACT, and says what came of it: errno, death, every object that changed, and what a watcher saw. WHO is
// what the acting child did with its rights before; see become.
//
// An act is an expression, and its text is the name that is printed. Left out is what ptguard
// refuses by itself: device nodes. No line holds an inode
// number or the time of day, so two runs can be compared as they are.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/landlock.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

#define OTHER 65534 // the user that root becomes; the owner of half of the fixtures
#define GROUP 4321

static const char *who;
static char longname[300], longpath[5000];
static int is_root;

static void die(const char *what)
{
	printf("perform: %s: %m\n", what);
	exit(3);
}

static void must(long r, const char *what)
{
	if (r < 0)
		die(what);
}

// fixtures

static struct object {
	const char *name;
	int mode, owner; // owner: 0 root, 1 OTHER; as nobody all are nobody's
	const char *text;
	int there;
	struct stat st;
} objects[] = {
	{".", 0, 0, 0},
	{"f", S_IFREG | 0644, 1, "12345678"},
	{"r", S_IFREG | 0644, 0, "root's"},
	{"s", S_IFREG | 06755, 1, "set"},
	{"none", S_IFREG | 0, 0, "no one's"},
	{"p", S_IFIFO | 0644, 1, 0},
	{"d", S_IFDIR | 0755, 1, 0},
	{"d/x", S_IFREG | 0644, 1, "x"},
	{"e", S_IFDIR | 0755, 1, 0},
	{"rd", S_IFDIR | 0755, 0, 0},
	{"rd/x", S_IFREG | 0666, 0, "x"},
	{"l", S_IFLNK, 1, "f"},
	{"dl", S_IFLNK, 1, "d"},
	{"dang", S_IFLNK, 1, "n"},
	{"n", 0, 0, 0}, // the new one
	{"d/n", 0, 0, 0},
	{"e/n", 0, 0, 0},
	{"rd/n", 0, 0, 0},
};
#define COUNT ((int)(sizeof objects / sizeof *objects))

static const struct kind {
	const char *name;
	int mode, owner, group, acl, root;
} kinds[] = {
	{"own", 0755, OTHER, OTHER, 0, 0},
	{"root's", 0755, 0, 0, 0, 1},
	{"sticky", 01777, 0, 0, 0, 1},
	{"setgid", 02777, 0, 1234, 0, 1},
	{"acl", 0777, OTHER, OTHER, 1, 0},
	{"unreadable", 0333, OTHER, OTHER, 0, 0},
};
#define KINDS ((int)(sizeof kinds / sizeof *kinds))

// A default list: user rwx, user 7 rw, group rx, mask rwx, others none.
static void set_acl(const char *dir)
{
	struct {
		uint32_t version;
		struct {
			uint16_t tag, perm;
			uint32_t id;
		} e[5];
	} acl = {2, {{1, 7, -1}, {2, 6, 7}, {4, 5, -1}, {16, 7, -1}, {32, 0, -1}}};
	must(setxattr(dir, "system.posix_acl_default", &acl, sizeof acl, 0), "default acl");
}

static void build(const struct kind *k)
{
	const struct timespec old[2] = {{1000000000, 5}, {1100000000, 6}};
	umask(0);
	must(mkdir("w", 0700), "mkdir w");
	must(chdir("w"), "chdir w");
	for (struct object *o = objects; o < objects + COUNT; o++) {
		int bad = 0;
		switch (o->mode & S_IFMT) {
		case S_IFREG:
			bad = mknod(o->name, S_IFREG | 0600, 0);
			int fd = open(o->name, O_WRONLY);
			bad |= fd < 0 || write(fd, o->text, strlen(o->text)) < 0 || close(fd);
			break;
		case S_IFIFO:
			bad = mkfifo(o->name, 0600);
			break;
		case S_IFDIR:
			bad = mkdir(o->name, 0700);
			break;
		case S_IFLNK:
			bad = symlink(o->text, o->name);
			break;
		default:
			continue;
		}
		if (is_root && o->owner)
			bad |= lchown(o->name, OTHER, OTHER);
		if (!S_ISLNK(o->mode))
			bad |= chmod(o->name, o->mode & 07777);
		if (bad)
			die(o->name);
	}
	must(setxattr("f", "user.old", "1", 1, 0), "xattr f");
	for (int i = COUNT; i-- > 1;)
		if (objects[i].mode)
			must(utimensat(AT_FDCWD, objects[i].name, old, AT_SYMLINK_NOFOLLOW), "times");
	if (k->acl)
		set_acl(".");
	if (is_root)
		must(chown(".", k->owner, k->group), "chown w");
	must(chmod(".", k->mode), "chmod w");
	for (struct object *o = objects; o < objects + COUNT; o++)
		o->there = lstat(o->name, &o->st) == 0;
}

static void wipe(const char *name)
{
	char sub[8192];
	struct dirent *e;
	DIR *d;
	if (unlink(name) == 0)
		return;
	chmod(name, 0700);
	if (!(d = opendir(name)))
		die(name);
	while ((e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) {
			snprintf(sub, sizeof sub, "%s/%s", name, e->d_name);
			wipe(sub);
		}
	closedir(d);
	must(rmdir(name), name);
}

// what changed

static void show_time(const char *what, struct timespec a, struct timespec b, int had)
{
	long now = time(NULL);
	if (had && a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec)
		printf(" %s=", what);
	else if (b.tv_sec > now - 1000 && b.tv_sec < now + 1000)
		printf(" %s now", what);
	else
		printf(" %s %ld.%ld", what, (long)b.tv_sec, b.tv_nsec);
}

static void show_xattrs(const char *name)
{
	char list[1024];
	unsigned char value[1024];
	ssize_t n = llistxattr(name, list, sizeof list);
	for (char *p = list; p < list + n; p += strlen(p) + 1) {
		if (!strncmp(p, "security.", 9))
			continue;
		ssize_t m = lgetxattr(name, p, value, sizeof value);
		printf(" %s:", p);
		for (ssize_t i = 0; i < m && i < 60; i++)
			printf("%02x", value[i]);
	}
}

static void show(void)
{
	struct stat st;
	char target[100];
	for (struct object *o = objects; o < objects + COUNT; o++) {
		if (lstat(o->name, &st)) {
			if (o->there)
				printf("  %s is gone\n", o->name);
			continue;
		}
		struct stat *b = &o->st;
		int same = o->there && st.st_ino == b->st_ino;
		if (same && st.st_ctim.tv_sec == b->st_ctim.tv_sec && st.st_ctim.tv_nsec == b->st_ctim.tv_nsec && st.st_nlink == b->st_nlink)
			continue;
		printf("  %s%s: %o %d:%d x%d", o->name, same ? "" : " new", st.st_mode, (int)st.st_uid, (int)st.st_gid, (int)st.st_nlink);
		if (!S_ISDIR(st.st_mode))
			printf(" %ld", (long)st.st_size);
		show_time("a", b->st_atim, st.st_atim, same);
		show_time("m", b->st_mtim, st.st_mtim, same);
		show_time("c", b->st_ctim, st.st_ctim, same);
		ssize_t n = S_ISLNK(st.st_mode) ? readlink(o->name, target, sizeof target - 1) : -1;
		if (n >= 0)
			printf(" -> %.*s", (int)n, target);
		show_xattrs(o->name);
		printf("\n");
	}
}

static int watch_all(void)
{
	int in = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	const char *names[] = {".", "d", "e", "rd", "f", "s"};
	must(in, "inotify_init");
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		inotify_add_watch(in, names[i], IN_ALL_EVENTS | IN_DONT_FOLLOW);
	return in;
}

static void show_events(int in)
{
	char buf[8192] __attribute__((aligned(8)));
	ssize_t n;
	uint32_t cookie = 0;
	while ((n = read(in, buf, sizeof buf)) > 0)
		for (char *p = buf; p < buf + n;) {
			struct inotify_event *e = (void *)p;
			printf("  event %d %x %s%s\n", e->wd, e->mask, !e->len ? "-" : *e->name == '#' ? "#" : e->name, !e->cookie ? "" : e->cookie == cookie ? " second" : " first");
			cookie = e->cookie;
			p += sizeof *e + e->len;
		}
	close(in);
}

// rights

static void caps(uint64_t drop, uint64_t only)
{
	struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct d[2];
	must(syscall(SYS_capget, &h, d), "capget");
	uint64_t eff = d[0].permitted | (uint64_t)d[1].permitted << 32;
	eff &= ~drop;
	if (only)
		eff &= only;
	d[0].effective = (uint32_t)eff;
	d[1].effective = eff >> 32;
	must(syscall(SYS_capset, &h, d), "capset");
}

#define CAP(x) (1ull << (x))

static void fence(void)
{
	struct landlock_ruleset_attr attr = {.handled_access_fs = (1ull << 15) - 1}; // all of ABI 3
	struct landlock_path_beneath_attr in = {.allowed_access = attr.handled_access_fs};
	int rules = syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
	must(rules, "landlock ruleset");
	in.parent_fd = open("d", O_PATH | O_CLOEXEC);
	must(syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &in, 0), "landlock rule d");
	in.parent_fd = open("e", O_PATH | O_CLOEXEC);
	must(syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &in, 0), "landlock rule e");
	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
	must(syscall(SYS_landlock_restrict_self, rules, 0), "landlock");
}

static void become(void)
{
	const gid_t groups[] = {GROUP, 1234};
	const struct rlimit small = {20, 20};
	if (!strcmp(who, "setuid")) {
		must(setgroups(1, groups) | setgid(OTHER) | setuid(OTHER), who);
	} else if (!strcmp(who, "groups")) {
		must(setgroups(2, groups) | setgid(GROUP) | setuid(OTHER), who);
	} else if (!strcmp(who, "euid")) {
		must(setgroups(0, groups) | setegid(OTHER) | seteuid(OTHER), who);
	} else if (!strcmp(who, "back")) {
		must(seteuid(OTHER), who);
		unlink("rd/x"); // an act as the other, which fails
		must(seteuid(0), who);
	} else if (!strcmp(who, "fsuid") || !strcmp(who, "thread")) {
		syscall(SYS_setfsgid, OTHER);
		syscall(SYS_setfsuid, OTHER);
	} else if (!strcmp(who, "fsgid")) {
		syscall(SYS_setfsgid, GROUP);
	} else if (!strcmp(who, "no-dac")) {
		caps(CAP(CAP_DAC_OVERRIDE) | CAP(CAP_DAC_READ_SEARCH), 0);
	} else if (!strcmp(who, "no-owner")) {
		caps(CAP(CAP_FOWNER) | CAP(CAP_CHOWN) | CAP(CAP_FSETID), 0);
	} else if (!strcmp(who, "no-caps")) {
		caps(~0ull, 0);
	} else if (!strcmp(who, "keep-caps")) {
		must(prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) | setgroups(0, groups) | setgid(OTHER) | setuid(OTHER), who);
		caps(0, CAP(CAP_CHOWN) | CAP(CAP_DAC_OVERRIDE));
	} else if (!strcmp(who, "landlock")) {
		fence();
	} else if (!strcmp(who, "limit")) {
		must(setrlimit(RLIMIT_FSIZE, &small), who);
	} else if (!strcmp(who, "limit-ignored")) {
		signal(SIGXFSZ, SIG_IGN);
		must(setrlimit(RLIMIT_FSIZE, &small), who);
	} else if (strcmp(who, "plain")) {
		die("who");
	}
}

// acts

static int o(const char *name, int flags) { return open(name, flags | O_CLOEXEC); }
#define OP(name) o(name, O_PATH | O_NOFOLLOW)
#define OR(name) o(name, O_RDONLY)
#define OD(name) o(name, O_PATH | O_DIRECTORY)

static struct timespec *ts(long a, long an, long m, long mn)
{
	static struct timespec t[2];
	t[0] = (struct timespec){a, an};
	t[1] = (struct timespec){m, mn};
	return t;
}

static struct timeval *tv(long a, long au, long m, long mu)
{
	static struct timeval t[2];
	t[0] = (struct timeval){a, au};
	t[1] = (struct timeval){m, mu};
	return t;
}

static int linked(const char *from, const char *to, int flags)
{
	char path[64];
	int fd = OR(from);
	if (fd < 0)
		return fd;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return syscall(SYS_linkat, AT_FDCWD, path, AT_FDCWD, to, flags);
}

static int tmpfile_linked(const char *dir, const char *to, int empty)
{
	char path[64];
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0640);
	if (fd < 0)
		return fd;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (empty)
		return syscall(SYS_linkat, fd, "", AT_FDCWD, to, AT_EMPTY_PATH);
	return syscall(SYS_linkat, AT_FDCWD, path, AT_FDCWD, to, AT_SYMLINK_FOLLOW);
}

static int deleted(const char *name, int (*act)(int fd))
{
	int fd = OR(name);
	if (fd < 0 || unlink(name))
		return -1;
	int r = act(fd);
	struct stat st;
	int e = errno;
	fstat(fd, &st);
	printf("  deleted: %o %d:%d x%d %ld\n", st.st_mode, (int)st.st_uid, (int)st.st_gid, (int)st.st_nlink, (long)st.st_size);
	errno = e;
	return r;
}
static int chmod600(int fd) { return syscall(SYS_fchmod, fd, 0600); }
static int chmodproc(int fd)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return syscall(SYS_chmod, path, 0604);
}
static int truncproc(int fd)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return syscall(SYS_truncate, path, 3);
}
static int xattrfd(int fd) { return fsetxattr(fd, "user.y", "1", 1, 0); }
static int timesfd(int fd) { return futimens(fd, ts(1, 2, 3, 4)); }

#define AT AT_FDCWD
#define NOF AT_SYMLINK_NOFOLLOW
#define EMPTY AT_EMPTY_PATH
#define C(name, ...) syscall(SYS_##name, __VA_ARGS__)

// The acts that make something; only these depend on the umask.
#ifdef SYS_mkdir
#define OLD_MAKING \
	X(C(mkdir, "n", 0777)) \
	X(C(mkdir, "n/", 07777)) \
	X(C(mkdir, "d/n", 0)) \
	X(C(mknod, "n", S_IFIFO | 0666, 0)) \
	X(C(mknod, "n", S_IFREG | 06777, 0)) \
	X(C(mknod, "n", 0666, 0)) \
	X(C(mknod, "n", S_IFSOCK | 0777, 0)) \
	X(C(symlink, "to", "n"))
#define OLD_CALLS \
	X(C(mkdir, "rd/n", 0777)) \
	X(C(mkdir, "f", 0777)) \
	X(C(mkdir, "dang", 0777)) \
	X(C(mkdir, longname, 0777)) \
	X(C(mkdir, longpath, 0777)) \
	X(C(mknod, "n", S_IFDIR | 0777, 0)) \
	X(C(mknod, "n", S_IFLNK | 0777, 0)) \
	X(C(mknod, "n", 0170000, 0)) \
	X(C(mknod, "n/", S_IFREG | 0666, 0)) \
	X(C(mknod, "l", S_IFREG | 0666, 0)) \
	X(C(symlink, "", "n")) \
	X(C(symlink, longpath, "n")) \
	X(C(symlink, longpath + 905, "n")) \
	X(C(symlink, NULL, "n")) \
	X(C(symlink, "to", "l")) \
	X(C(symlink, "to", "n/")) \
	X(C(symlink, "to", "rd/n")) \
	X(C(unlink, "f")) \
	X(C(unlink, "r")) \
	X(C(unlink, "l")) \
	X(C(unlink, "p")) \
	X(C(unlink, "d")) \
	X(C(unlink, "d/x")) \
	X(C(unlink, "rd/x")) \
	X(C(unlink, "f/")) \
	X(C(unlink, "n")) \
	X(C(rmdir, "e")) \
	X(C(rmdir, "e/")) \
	X(C(rmdir, "d")) \
	X(C(rmdir, "f")) \
	X(C(rmdir, "dl")) \
	X(C(rmdir, "dl/")) \
	X(C(rename, "f", "n")) \
	X(C(rename, "f", "d/n")) \
	X(C(rename, "f", "r")) \
	X(C(rename, "r", "f")) \
	X(C(rename, "d", "e")) \
	X(C(rename, "e", "d")) \
	X(C(rename, "d", "e/n")) \
	X(C(rename, "d", "d/n")) \
	X(C(rename, "d", "n/")) \
	X(C(rename, "f", "n/")) \
	X(C(rename, "f", "e")) \
	X(C(rename, "d", "f")) \
	X(C(rename, "l", "n")) \
	X(C(rename, "rd/x", "n")) \
	X(C(rename, "rd", "n")) \
	X(C(rename, "f", "f")) \
	X(C(rename, "f", "/dev/shm/ptguard-perform")) \
	X(C(rename, "f", longname)) \
	X(C(link, "f", "n")) \
	X(C(link, "l", "n")) \
	X(C(link, "r", "n")) \
	X(C(link, "none", "n")) \
	X(C(link, "s", "n")) \
	X(C(link, "d", "n")) \
	X(C(link, "f", "n/")) \
	X(C(link, "f", "l")) \
	X(C(link, "f", "d/n")) \
	X(C(link, "f", "rd/n")) \
	X(C(link, "d/x", "e/n")) \
	X(C(link, "f", "/dev/shm/ptguard-perform")) \
	X(C(chmod, "f", 0)) \
	X(C(chmod, "f", 07777)) \
	X(C(chmod, "f", 0xffffffff)) \
	X(C(chmod, "l", 0600)) \
	X(C(chmod, "r", 0600)) \
	X(C(chmod, "d", 02777)) \
	X(C(chmod, "none", 0600)) \
	X(C(chown, "f", OTHER, GROUP)) \
	X(C(chown, "f", 7, 7)) \
	X(C(chown, "f", -1, -1)) \
	X(C(chown, "s", -1, OTHER)) \
	X(C(chown, "l", -1, GROUP)) \
	X(C(chown, "r", 0, 0)) \
	X(C(lchown, "l", -1, GROUP)) \
	X(C(lchown, "dl", 7, 8)) \
	X(C(utime, "f", NULL)) \
	X(C(utime, "r", NULL)) \
	X(C(utime, "f", (&(struct utimbuf){10, 20}))) \
	X(C(utime, "rd/x", NULL)) \
	X(C(utime, "rd/x", (&(struct utimbuf){10, 20}))) \
	X(C(utime, "f", 1L)) \
	X(C(utimes, "f", tv(10, 11, 20, 21))) \
	X(C(utimes, "l", tv(-10, 11, 20, 999999))) \
	X(C(utimes, "f", tv(10, 1000000, 20, 21))) \
	X(C(utimes, "f", tv(10, -1, 20, 21))) \
	X(C(utimes, "r", NULL)) \
	X(C(futimesat, AT, "d/x", tv(10, 11, 20, 21))) \
	X(C(futimesat, OD("d"), "x", tv(10, 11, 20, 21))) \
	X(C(futimesat, OR("f"), NULL, tv(10, 11, 20, 21))) \
	X(C(futimesat, OP("f"), NULL, tv(10, 11, 20, 21)))
#else
#define OLD_MAKING
#define OLD_CALLS
#endif

#define MAKING \
	OLD_MAKING \
	X(C(mkdirat, AT, "n", 01777)) \
	X(C(mkdirat, OD("d"), "n", 0751)) \
	X(C(mknodat, OD("e"), "n", S_IFREG | 0666, 0)) \
	X(C(mknodat, AT, "n", S_IFIFO | 0622, 0)) \
	X(C(symlinkat, "to", OD("e"), "n")) \
	X(tmpfile_linked(".", "n", 0)) \
	X(tmpfile_linked("e", "e/n", 1))

#define CALLS \
	OLD_CALLS \
	X(C(mkdirat, -1, "n", 0777)) \
	X(C(mkdirat, OR("f"), "n", 0777)) \
	X(C(mkdirat, AT, "none/n", 0777)) \
	X(C(mkdirat, AT, "absent/n", 0777)) \
	X(C(mkdirat, AT, "", 0777)) \
	X(C(mkdirat, AT, NULL, 0777)) \
	X(C(unlinkat, AT, "f", 0)) \
	X(C(unlinkat, OD("d"), "x", 0)) \
	X(C(unlinkat, OD("rd"), "x", 0)) \
	X(C(unlinkat, AT, "e", AT_REMOVEDIR)) \
	X(C(unlinkat, AT, "f", AT_REMOVEDIR)) \
	X(C(unlinkat, AT, "d", AT_REMOVEDIR)) \
	X(C(unlinkat, AT, "f", 1)) \
	X(C(unlinkat, AT, "n", 1)) \
	X(C(renameat, OD("d"), "x", OD("e"), "n")) \
	X(C(renameat2, AT, "f", AT, "n", RENAME_NOREPLACE)) \
	X(C(renameat2, AT, "f", AT, "r", RENAME_NOREPLACE)) \
	X(C(renameat2, AT, "f", AT, "r", RENAME_EXCHANGE)) \
	X(C(renameat2, AT, "f", AT, "d", RENAME_EXCHANGE)) \
	X(C(renameat2, AT, "f", AT, "n", RENAME_EXCHANGE)) \
	X(C(renameat2, AT, "l", AT, "d/x", RENAME_EXCHANGE)) \
	X(C(renameat2, AT, "f", AT, "n", RENAME_EXCHANGE | RENAME_NOREPLACE)) \
	X(C(renameat2, AT, "f", AT, "n", 64)) \
	X(C(linkat, AT, "l", AT, "n", 0)) \
	X(C(linkat, AT, "l", AT, "n", AT_SYMLINK_FOLLOW)) \
	X(C(linkat, AT, "dang", AT, "n", AT_SYMLINK_FOLLOW)) \
	X(C(linkat, AT, "f", AT, "n", NOF)) \
	X(C(linkat, OR("f"), "", AT, "n", EMPTY)) \
	X(C(linkat, OP("f"), "", AT, "n", EMPTY)) \
	X(C(linkat, OP("l"), "", AT, "n", EMPTY)) \
	X(C(linkat, OR("f"), "", AT, "n", 0)) \
	X(linked("f", "n", AT_SYMLINK_FOLLOW)) \
	X(linked("r", "n", AT_SYMLINK_FOLLOW)) \
	X(C(truncate, "f", 3)) \
	X(C(truncate, "f", 8)) \
	X(C(truncate, "f", 20)) \
	X(C(truncate, "f", 5000)) \
	X(C(truncate, "s", 100)) \
	X(C(truncate, "s", 1)) \
	X(C(truncate, "l", 0)) \
	X(C(truncate, "r", 0)) \
	X(C(truncate, "r", 5000)) \
	X(C(truncate, "d", 0)) \
	X(C(truncate, "p", 0)) \
	X(C(truncate, "n", 0)) \
	X(C(truncate, "n", 5000)) \
	X(C(truncate, "dang", 5000)) \
	X(C(truncate, "f", -1L)) \
	X(C(truncate, "n", -1L)) \
	X(C(truncate, "f", 1L << 62)) \
	X(C(fchmod, OR("f"), 0604)) \
	X(C(fchmod, OR("d"), 03711)) \
	X(C(fchmod, OP("f"), 0604)) \
	X(C(fchmod, OR("r"), 0604)) \
	X(C(fchmod, -1, 0604)) \
	X(C(fchmodat, AT, "f", 0604)) \
	X(C(fchmodat, OD("d"), "x", 0604)) \
	X(C(fchmodat2, AT, "f", 0604, 0)) \
	X(C(fchmodat2, AT, "l", 0604, NOF)) \
	X(C(fchmodat2, AT, "f", 0604, NOF)) \
	X(C(fchmodat2, OP("f"), "", 0604, EMPTY)) \
	X(C(fchmodat2, OP("l"), "", 0604, EMPTY)) \
	X(C(fchmodat2, OP("f"), "", 0604, 0)) \
	X(C(fchmodat2, AT, "f", 0604, 1)) \
	X(C(fchown, OR("f"), -1, GROUP)) \
	X(C(fchown, OR("s"), OTHER, -1)) \
	X(C(fchown, OP("f"), -1, GROUP)) \
	X(C(fchown, OR("f"), 7, -1)) \
	X(C(fchownat, AT, "l", -1, GROUP, 0)) \
	X(C(fchownat, AT, "l", -1, GROUP, NOF)) \
	X(C(fchownat, OP("f"), "", -1, GROUP, EMPTY)) \
	X(C(fchownat, OP("l"), "", -1, GROUP, EMPTY)) \
	X(C(fchownat, AT, "f", -1, GROUP, 1)) \
	X(C(fchownat, AT, "", -1, GROUP, EMPTY)) \
	X(C(utimensat, AT, "f", NULL, 0)) \
	X(C(utimensat, AT, "rd/x", NULL, 0)) \
	X(C(utimensat, AT, "r", NULL, 0)) \
	X(C(utimensat, AT, "f", ts(1, 2, 3, 4), 0)) \
	X(C(utimensat, AT, "f", ts(-1, 999999999, 1L << 40, 0), 0)) \
	X(C(utimensat, AT, "l", ts(1, 2, 3, 4), NOF)) \
	X(C(utimensat, AT, "l", ts(1, 2, 3, 4), 0)) \
	X(C(utimensat, AT, "f", ts(1, UTIME_NOW, 3, 4), 0)) \
	X(C(utimensat, AT, "f", ts(1, UTIME_OMIT, 3, UTIME_NOW), 0)) \
	X(C(utimensat, AT, "f", ts(1, 2, 3, UTIME_OMIT), 0)) \
	X(C(utimensat, AT, "rd/x", ts(1, UTIME_NOW, 3, UTIME_NOW), 0)) \
	X(C(utimensat, AT, "rd/x", ts(1, UTIME_OMIT, 3, UTIME_NOW), 0)) \
	X(C(utimensat, AT, "r", ts(1, UTIME_OMIT, 3, UTIME_OMIT), 0)) \
	X(C(utimensat, AT, "n", ts(1, UTIME_OMIT, 3, UTIME_OMIT), 0)) \
	X(C(utimensat, AT, "f", ts(1, 1000000000, 3, 4), 0)) \
	X(C(utimensat, AT, "f", ts(1, -1, 3, 4), 0)) \
	X(C(utimensat, AT, "f", ts(1, 2, 3, 4), 1)) \
	X(C(utimensat, AT, "f", 1L, 0)) \
	X(C(utimensat, OR("f"), NULL, ts(1, 2, 3, 4), 0)) \
	X(C(utimensat, OR("f"), NULL, NULL, 0)) \
	X(C(utimensat, OR("r"), NULL, ts(1, 2, 3, 4), 0)) \
	X(C(utimensat, OP("f"), NULL, ts(1, 2, 3, 4), 0)) \
	X(C(utimensat, OR("f"), NULL, ts(1, 2, 3, 4), NOF)) \
	X(C(utimensat, OP("f"), "", ts(1, 2, 3, 4), EMPTY)) \
	X(C(utimensat, OD("d"), "x", ts(1, 2, 3, 4), 0)) \
	X(C(utimensat, AT, NULL, ts(1, 2, 3, 4), 0)) \
	X(C(setxattr, "f", "user.x", "abc", 3, 0)) \
	X(C(setxattr, "f", "user.x", "", 0, 0)) \
	X(C(setxattr, "f", "user.old", "2", 1, XATTR_CREATE)) \
	X(C(setxattr, "f", "user.old", "2", 1, XATTR_REPLACE)) \
	X(C(setxattr, "f", "user.x", "2", 1, XATTR_REPLACE)) \
	X(C(setxattr, "f", "user.x", "2", 1, 7)) \
	X(C(setxattr, "f", "user.x", "2", 65537, 0)) \
	X(C(setxattr, "f", "user.x", 1L, 3, 0)) \
	X(C(setxattr, "f", "", "2", 1, 0)) \
	X(C(setxattr, "f", longname, "2", 1, 0)) \
	X(C(setxattr, "f", "nonsense", "2", 1, 0)) \
	X(C(setxattr, "f", "trusted.x", "2", 1, 0)) \
	X(C(setxattr, "l", "user.x", "2", 1, 0)) \
	X(C(setxattr, "p", "user.x", "2", 1, 0)) \
	X(C(setxattr, "d", "user.x", "2", 1, 0)) \
	X(C(setxattr, "rd", "user.x", "2", 1, 0)) \
	X(C(setxattr, "rd/x", "user.x", "2", 1, 0)) \
	X(C(lsetxattr, "l", "user.x", "2", 1, 0)) \
	X(C(lsetxattr, "l", "trusted.x", "2", 1, 0)) \
	X(C(fsetxattr, OR("f"), "user.x", "2", 1, 0)) \
	X(C(fsetxattr, OP("f"), "user.x", "2", 1, 0)) \
	X(C(removexattr, "f", "user.old")) \
	X(C(removexattr, "f", "user.x")) \
	X(C(removexattr, "l", "user.old")) \
	X(C(lremovexattr, "l", "user.old")) \
	X(C(fremovexattr, OR("f"), "user.old")) \
	X(C(fremovexattr, OP("f"), "user.old")) \
	X(deleted("f", chmod600)) \
	X(deleted("f", chmodproc)) \
	X(deleted("f", truncproc)) \
	X(deleted("f", xattrfd)) \
	X(deleted("f", timesfd))

// act number want; its text, or NULL if there is none.
static const char *act(int want, int making, int go, long *r)
{
	int at = 0;
#define X(expr) \
	if (at++ == want) { \
		if (go) { \
			errno = 0; \
			*r = (expr); \
		} \
		return #expr; \
	}
	MAKING
	if (making)
		return NULL;
	CALLS
	return NULL;
}

static int number, only_making;

static void *child(void *unused)
{
	long r = 0;
	become();
	act(number, only_making, 1, &r);
	printf("  = %s\n", r < 0 ? strerrorname_np(errno) : "ok");
	fflush(stdout);
	return unused;
}

int main(int argc, char **argv)
{
	const char *text;
	pthread_t thread;
	long r;
	if (argc < 3)
		return 2;
	who = argv[1];
	int mask = strtol(argv[2], NULL, 8);
	only_making = mask != 022;
	is_root = geteuid() == 0;
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	memset(longname, 'n', sizeof longname - 1);
	for (unsigned i = 0; i < sizeof longpath - 2; i += 2)
		memcpy(longpath + i, "./", 2);
	for (const struct kind *k = kinds; k < kinds + KINDS; k++) {
		if ((argc > 3 && strcmp(argv[3], k->name)) || (k->root && !is_root))
			continue;
		for (number = 0; (text = act(number, only_making, 0, &r)); number++) {
			if (argc > 4 && !strstr(text, argv[4]))
				continue;
			printf("%s: %s\n", k->name, text);
			build(k);
			int in = watch_all();
			fflush(stdout);
			pid_t pid = fork();
			must(pid, "fork");
			if (pid == 0) {
				umask(mask);
				if (strcmp(who, "thread"))
					child(NULL);
				else if (pthread_create(&thread, NULL, child, NULL) || pthread_join(thread, NULL))
					die("thread");
				_exit(0);
			}
			int status;
			must(waitpid(pid, &status, 0), "wait");
			if (status)
				printf("  status %x\n", status & ~0x80); // whether a core was written is of no interest
			show_events(in);
			show();
			must(chdir(".."), "chdir ..");
			wipe("w");
		}
	}
	return 0;
}
