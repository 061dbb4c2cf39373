// SPDX-License-Identifier: Apache-2.0
// errno MODE BASE makes a folder of fixtures and does every call that takes a name on
// every kind of name, by raw system calls; each gives a line "CALL SITUATION RESULT".
// MODE is one of
//
//	build  only make the fixtures
//	in     names below BASE and calls that only look
//	all    names outside BASE as well
//	keep   like in, on fixtures that are there and may not be changed
//
// The fixtures are made again after every call that changed them, so no line depends on
// another one.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef SYS_setxattrat
#define SYS_setxattrat 463
#define SYS_getxattrat 464
#define SYS_listxattrat 465
#define SYS_removexattrat 466
#endif
#ifndef SYS_file_getattr
#define SYS_file_getattr 468
#define SYS_file_setattr 469
#endif

static char base[4096], self[4096], other[4096];
static char extra[128];		  // what an act that worked says about its object
static unsigned long junk;	  // or'ed into the high half of int arguments
static int inotify, keep;
static int *shared; // what a child that execs tells its parent

#define J(x) ((unsigned long)(unsigned)(x) | junk)

static void die(const char *what)
{
	fprintf(stderr, "errno: %s: %m\n", what);
	exit(3);
}

// fixtures

// Parents come before their children. A fixture that an act changed has another inode or
// status time and is made again, alone: to make all again each time takes too long.
static struct fixture {
	const char *name, *text;
	int type; // S_IF*, or one of the two below
	int mode;
	struct stat st;
} fixtures[] = {
	{"f", "f\n", S_IFREG, 0644},
	{"g", "two\n", S_IFREG, 0644},
	{"text", "no program\n", S_IFREG, 0755},
	{"noread", "secret\n", S_IFREG, 0},
	{"script", "#!./x run\n", S_IFREG, 0755},
	{"script-absent", "#!./absent\n", S_IFREG, 0755},
	{"script-denied", "#!./f\n", S_IFREG, 0755},
	{"script-loop", "#!./script-loop\n", S_IFREG, 0755},
	{"\xff\xfe\n", "bytes", S_IFREG, 0644},
	{"d", 0, S_IFDIR, 0755},
	{"noperm", 0, S_IFDIR, 0},
	{"full", 0, S_IFDIR, 0755},
	{"full/f", "in full\n", S_IFREG, 0644},
	{"full/sub", 0, S_IFDIR, 0755},
	{"link", "f", S_IFLNK, 0},
	{"dlink", "d", S_IFLNK, 0},
	{"fulllink", "full", S_IFLNK, 0},
	{"deep", "full/f", S_IFLNK, 0},
	{"dangling", "new", S_IFLNK, 0},
	{"dangling-deep", "d/new", S_IFLNK, 0},
	{"dangling-far", "absent/new", S_IFLNK, 0},
	{"dangling-slash", "new/", S_IFLNK, 0},
	{"loop", "loop", S_IFLNK, 0},
	{"slashlink", "f/", S_IFLNK, 0},
	{"magic", "/proc/self/cwd/f", S_IFLNK, 0},
	{"fifo", 0, S_IFIFO, 0644},
	{"sock", 0, S_IFSOCK, 0755},
#define PROGRAM 1
	{"x", 0, PROGRAM, 0},
#define CHAIN 2
	{"chain", 0, CHAIN, 0},
};
#define NFIXTURES ((int)(sizeof fixtures / sizeof *fixtures))

static void wipe(const char *name)
{
	DIR *d;
	struct dirent *e;
	char sub[8192];
	if (unlink(name) == 0 || errno == ENOENT || errno == ENOTDIR || rmdir(name) == 0)
		return;
	if (!(d = opendir(name)))
		die(name);
	while ((e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) {
			snprintf(sub, sizeof sub, "%s/%s", name, e->d_name);
			wipe(sub);
		}
	closedir(d);
	if (rmdir(name))
		die(name);
}

static void make(struct fixture *x)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	char name[32], target[32];
	int fd, i, bad = 0;
	switch (x->type) {
	case S_IFREG:
		fd = open(x->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		bad = fd < 0 || write(fd, x->text, strlen(x->text)) != (ssize_t)strlen(x->text) || fchmod(fd, x->mode) || close(fd);
		if (!strcmp(x->name, "f"))
			setxattr("f", "user.x", "1", 1, 0);
		break;
	case S_IFDIR:
		bad = mkdir(x->name, x->mode);
		break;
	case S_IFLNK:
		bad = symlink(x->text, x->name);
		break;
	case S_IFIFO:
		bad = mknod(x->name, S_IFIFO | x->mode, 0);
		break;
	case S_IFSOCK: // nobody listens any more
		strcpy(un.sun_path, x->name);
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		bad = fd < 0 || bind(fd, (void *)&un, sizeof un) || close(fd);
		break;
	case PROGRAM: // the caller put a copy of this program on the same file system
		bad = link(self, x->name);
		break;
	case CHAIN: // 39 has 40 links to follow, 40 one more
		bad = mkdir(x->name, 0755);
		for (i = 0; i < 42 && !bad; i++) {
			snprintf(name, sizeof name, "chain/%d", i);
			snprintf(target, sizeof target, "%d", i - 1);
			bad = symlink(i ? target : "../f", name);
		}
	}
	if (bad)
		die(x->name);
}

// known tells whether a name in the base is a fixture's.
static int known(const char *name)
{
	for (int i = 0; i < NFIXTURES; i++)
		if (!strcmp(fixtures[i].name, name))
			return 1;
	return !strcmp(name, ".") || !strcmp(name, "..");
}

static int changed(const struct fixture *x)
{
	struct stat st;
	return lstat(x->name, &st) || st.st_ino != x->st.st_ino || st.st_mode != x->st.st_mode || st.st_size != x->st.st_size ||
	       st.st_ctim.tv_sec != x->st.st_ctim.tv_sec || st.st_ctim.tv_nsec != x->st.st_ctim.tv_nsec;
}

static void rebuild(void)
{
	struct dirent *e;
	DIR *d = opendir(".");
	int i, k;
	if (!d)
		die(base);
	while ((e = readdir(d)))
		if (!known(e->d_name))
			wipe(e->d_name);
	closedir(d);
	wipe("../new"); // made through d/.. and the like
	for (i = 0; i < NFIXTURES; i++) {
		if (!changed(&fixtures[i]))
			continue;
		wipe(fixtures[i].name);
		make(&fixtures[i]);
		for (k = 0; k <= i; k++) // what was made in a directory changes its times
			if (lstat(fixtures[k].name, &fixtures[k].st))
				die(fixtures[k].name);
	}
}

// what an act did

static void describe(mode_t mode, long size)
{
	snprintf(extra, sizeof extra, " %o %ld", mode & S_IFMT, S_ISREG(mode) && size < 100 ? size : 0L);
}

static long opened(long fd)
{
	struct stat st;
	int flags;
	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		return -1;
	flags = fcntl(fd, F_GETFL);
	describe(st.st_mode, st.st_size);
	snprintf(extra + strlen(extra), 32, " 0x%x", flags);
	close(fd);
	return 0;
}

static long ran(long pid)
{
	int status;
	if (pid < 0)
		return pid;
	waitpid(pid, &status, 0);
	if (*shared) {
		errno = *shared;
		return -1;
	}
	snprintf(extra, sizeof extra, " status %x", status);
	return 0;
}

typedef long act(unsigned long dfd, const char *p);
#define ACT(id, expr) \
	static long id(unsigned long dfd, const char *p) { (void)dfd; return expr; }
#define OPENAT(id, flags) ACT(id, opened(syscall(SYS_openat, dfd, p, J((flags) | O_NONBLOCK), J(0644))))

OPENAT(openat_r, O_RDONLY)
OPENAT(openat_w, O_WRONLY)
OPENAT(openat_rw, O_RDWR)
OPENAT(openat_3, 3)
OPENAT(openat_append, O_WRONLY | O_APPEND)
OPENAT(openat_trunc, O_RDONLY | O_TRUNC)
OPENAT(openat_creat, O_WRONLY | O_CREAT)
OPENAT(openat_creat_r, O_RDONLY | O_CREAT)
OPENAT(openat_excl, O_WRONLY | O_CREAT | O_EXCL)
OPENAT(openat_creat_nofollow, O_WRONLY | O_CREAT | O_NOFOLLOW)
OPENAT(openat_creat_dir, O_RDONLY | O_CREAT | O_DIRECTORY)
OPENAT(openat_creat_trunc, O_WRONLY | O_CREAT | O_TRUNC)
OPENAT(openat_dir, O_RDONLY | O_DIRECTORY)
OPENAT(openat_dir_w, O_WRONLY | O_DIRECTORY)
OPENAT(openat_nofollow, O_RDONLY | O_NOFOLLOW)
OPENAT(openat_w_nofollow, O_WRONLY | O_NOFOLLOW)
OPENAT(openat_path, O_PATH)
OPENAT(openat_path_nofollow, O_PATH | O_NOFOLLOW)
OPENAT(openat_path_creat, O_PATH | O_CREAT | O_WRONLY)
OPENAT(openat_path_dir, O_PATH | O_DIRECTORY)
OPENAT(openat_tmp, O_WRONLY | O_TMPFILE)
OPENAT(openat_tmp_r, O_RDONLY | O_TMPFILE)
OPENAT(openat_tmp_bit, O_WRONLY | (O_TMPFILE & ~O_DIRECTORY))
OPENAT(openat_excl_only, O_WRONLY | O_EXCL)
OPENAT(openat_direct, O_RDONLY | O_DIRECT)
OPENAT(openat_noatime, O_RDONLY | O_NOATIME)
OPENAT(openat_unknown, O_RDONLY | 1 << 27)

static long how(unsigned long dfd, const char *p, uint64_t flags, uint64_t mode, uint64_t resolve, size_t size)
{
	struct {
		struct open_how h;
		char more[4096];
	} w = {.h = {flags, mode, resolve}};
	// A rename or mount anywhere on the machine meanwhile makes the kernel say EAGAIN where a
	// walk must stay beneath (openat2(2)): the caller's to try again.
	long fd;
	do
		fd = syscall(SYS_openat2, dfd, p, &w, size);
	while (fd < 0 && errno == EAGAIN && resolve & (RESOLVE_BENEATH | RESOLVE_IN_ROOT));
	return opened(fd);
}
#define HOW(id, flags, mode, resolve, size) ACT(id, how(dfd, p, flags, mode, resolve, size))
HOW(openat2_r, O_RDONLY | O_NONBLOCK, 0, 0, 24)
HOW(openat2_w, O_WRONLY | O_NONBLOCK, 0, 0, 24)
HOW(openat2_creat, O_WRONLY | O_CREAT | O_NONBLOCK, 0644, 0, 24)
HOW(openat2_mode, O_RDONLY, 0644, 0, 24)
HOW(openat2_flags, O_WRONLY | 1ull << 40, 0, 0, 24)
HOW(openat2_flags27, O_WRONLY | 1 << 27, 0, 0, 24)
HOW(openat2_path_flags, O_PATH | O_WRONLY, 0, 0, 24)
HOW(openat2_badmode, O_WRONLY | O_CREAT, 01000000, 0, 24)
HOW(openat2_resolve, O_WRONLY, 0, 1 << 20, 24)
HOW(openat2_both, O_RDONLY, 0, RESOLVE_BENEATH | RESOLVE_IN_ROOT, 24)
HOW(openat2_short, O_WRONLY, 0, 0, 23)
HOW(openat2_zero, O_WRONLY, 0, 0, 0)
HOW(openat2_long, O_WRONLY | O_NONBLOCK, 0, 0, 32)
HOW(openat2_page, O_WRONLY | O_NONBLOCK, 0, 0, 4096)
HOW(openat2_toolong, O_WRONLY, 0, 0, 4097)
HOW(openat2_beneath, O_RDONLY | O_NONBLOCK, 0, RESOLVE_BENEATH, 24)
HOW(openat2_inroot, O_RDONLY | O_NONBLOCK, 0, RESOLVE_IN_ROOT, 24)
HOW(openat2_nolinks, O_RDONLY | O_NONBLOCK, 0, RESOLVE_NO_SYMLINKS, 24)
HOW(openat2_nolinks_w, O_WRONLY | O_NONBLOCK, 0, RESOLVE_NO_SYMLINKS, 24)
HOW(openat2_nomagic, O_WRONLY | O_NONBLOCK, 0, RESOLVE_NO_MAGICLINKS, 24)
HOW(openat2_noxdev, O_WRONLY | O_NONBLOCK, 0, RESOLVE_NO_XDEV, 24)
HOW(openat2_beneath_creat, O_WRONLY | O_CREAT | O_NONBLOCK, 0644, RESOLVE_BENEATH, 24)
ACT(openat2_null, opened(syscall(SYS_openat2, dfd, p, 0, 24ul)))
static long openat2_more(unsigned long dfd, const char *p)
{
	struct open_how w[2] = {{.flags = O_WRONLY}, {.flags = 1}};
	return opened(syscall(SYS_openat2, dfd, p, w, sizeof w));
}

static long stated(long r, struct stat *st)
{
	if (r == 0)
		describe(st->st_mode, st->st_size);
	return r;
}
static struct stat st;
#define FSTATAT(id, flags) ACT(id, stated(syscall(SYS_newfstatat, dfd, p, &st, J(flags)), &st))
FSTATAT(newfstatat, 0)
FSTATAT(newfstatat_nofollow, AT_SYMLINK_NOFOLLOW)
FSTATAT(newfstatat_empty, AT_EMPTY_PATH)
FSTATAT(newfstatat_bad, 0x10000)
ACT(newfstatat_null, syscall(SYS_newfstatat, dfd, p, 0, J(0)))
static long statxed(unsigned long dfd, const char *p, unsigned flags, unsigned mask)
{
	struct statx x;
	long r = syscall(SYS_statx, dfd, p, J(flags), J(mask), &x);
	if (r == 0)
		describe(x.stx_mode, x.stx_size);
	return r;
}
ACT(statx_plain, statxed(dfd, p, 0, STATX_BASIC_STATS))
ACT(statx_nofollow, statxed(dfd, p, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS))
ACT(statx_empty, statxed(dfd, p, AT_EMPTY_PATH, STATX_BASIC_STATS))
ACT(statx_bad, statxed(dfd, p, AT_STATX_FORCE_SYNC | AT_STATX_DONT_SYNC, STATX_BASIC_STATS))
ACT(statx_reserved, statxed(dfd, p, 0, 1u << 31))
ACT(faccessat_f, syscall(SYS_faccessat, dfd, p, J(F_OK)))
ACT(faccessat_r, syscall(SYS_faccessat, dfd, p, J(R_OK)))
ACT(faccessat_w, syscall(SYS_faccessat, dfd, p, J(W_OK)))
ACT(faccessat_x, syscall(SYS_faccessat, dfd, p, J(X_OK)))
ACT(faccessat_bad, syscall(SYS_faccessat, dfd, p, J(8)))
ACT(faccessat2_w, syscall(SYS_faccessat2, dfd, p, J(W_OK), J(0)))
ACT(faccessat2_eaccess, syscall(SYS_faccessat2, dfd, p, J(R_OK), J(AT_EACCESS)))
ACT(faccessat2_nofollow, syscall(SYS_faccessat2, dfd, p, J(R_OK), J(AT_SYMLINK_NOFOLLOW)))
ACT(faccessat2_empty, syscall(SYS_faccessat2, dfd, p, J(R_OK), J(AT_EMPTY_PATH)))
ACT(faccessat2_bad, syscall(SYS_faccessat2, dfd, p, J(R_OK), J(0x10000)))
static long linkText(unsigned long dfd, const char *p, int size)
{
	char buf[64] = "";
	long r = syscall(SYS_readlinkat, dfd, p, buf, J(size));
	if (r > 0 && !strpbrk(buf, "/:123456789")) // of proc: differs between runs
		snprintf(extra, sizeof extra, " %s", buf);
	return r;
}
ACT(readlinkat_, linkText(dfd, p, 63))
ACT(readlinkat_cut, linkText(dfd, p, 1))
ACT(readlinkat_zero, linkText(dfd, p, 0))
ACT(readlinkat_neg, linkText(dfd, p, -1))
ACT(readlinkat_null, syscall(SYS_readlinkat, dfd, p, 0, J(64)))
static long back(long r)
{
	if (r == 0 && chdir(base))
		die("chdir back");
	return r;
}
ACT(chdir_, back(syscall(SYS_chdir, p)))
static struct statfs sf;
ACT(statfs_, syscall(SYS_statfs, p, &sf))
ACT(statfs_null, syscall(SYS_statfs, p, 0))
static char value[256];
static char name255[300], name256[300];
ACT(getxattr_, syscall(SYS_getxattr, p, "user.x", value, sizeof value))
ACT(getxattr_size, syscall(SYS_getxattr, p, "user.x", 0, 0ul))
ACT(getxattr_none, syscall(SYS_getxattr, p, "user.absent", value, sizeof value))
ACT(getxattr_ns, syscall(SYS_getxattr, p, "nospace.x", value, sizeof value))
ACT(getxattr_label, syscall(SYS_getxattr, p, "security.selinux", value, sizeof value))
ACT(getxattr_acl, syscall(SYS_getxattr, p, "system.posix_acl_access", value, sizeof value))
ACT(getxattr_noname, syscall(SYS_getxattr, p, "", value, sizeof value))
ACT(getxattr_null, syscall(SYS_getxattr, p, 0, value, sizeof value))
ACT(getxattr_255, syscall(SYS_getxattr, p, name255, value, sizeof value))
ACT(getxattr_256, syscall(SYS_getxattr, p, name256, value, sizeof value))
ACT(lgetxattr_, syscall(SYS_lgetxattr, p, "user.x", value, sizeof value))
ACT(listxattr_, syscall(SYS_listxattr, p, value, sizeof value))
ACT(llistxattr_, syscall(SYS_llistxattr, p, value, sizeof value))
struct xargs {
	uint64_t value;
	uint32_t size, flags;
};
static struct xargs xin = {(uintptr_t)value, sizeof value, 0};
static struct xargs xout = {(uintptr_t) "1", 1, 0};
ACT(getxattrat_, syscall(SYS_getxattrat, dfd, p, J(0), "user.x", &xin, sizeof xin))
ACT(getxattrat_empty, syscall(SYS_getxattrat, dfd, p, J(AT_EMPTY_PATH), "user.x", &xin, sizeof xin))
ACT(getxattrat_bad, syscall(SYS_getxattrat, dfd, p, J(1), "user.x", &xin, sizeof xin))
ACT(listxattrat_, syscall(SYS_listxattrat, dfd, p, J(0), value, sizeof value))
ACT(setxattrat_, syscall(SYS_setxattrat, dfd, p, J(0), "user.x", &xout, sizeof xout))
ACT(setxattrat_nofollow, syscall(SYS_setxattrat, dfd, p, J(AT_SYMLINK_NOFOLLOW), "user.x", &xout, sizeof xout))
ACT(removexattrat_, syscall(SYS_removexattrat, dfd, p, J(0), "user.x"))
static uint64_t attr[3];
ACT(file_getattr_, syscall(SYS_file_getattr, dfd, p, attr, sizeof attr, J(0)))
ACT(file_getattr_bad, syscall(SYS_file_getattr, dfd, p, attr, sizeof attr, J(1)))
ACT(file_setattr_short, syscall(SYS_file_setattr, dfd, p, attr, 1ul, J(0)))
static struct {
	struct file_handle h;
	char room[128];
} handle;
static long named(unsigned long dfd, const char *p, int flags, int bytes)
{
	int id;
	handle.h.handle_bytes = bytes;
	return syscall(SYS_name_to_handle_at, dfd, p, &handle, &id, J(flags));
}
ACT(handle_plain, named(dfd, p, 0, 128))
ACT(handle_follow, named(dfd, p, AT_SYMLINK_FOLLOW, 128))
ACT(handle_empty, named(dfd, p, AT_EMPTY_PATH, 128))
ACT(handle_small, named(dfd, p, 0, 0))
ACT(handle_bad, named(dfd, p, 0x40000, 128))
static long watched(long wd)
{
	if (wd > 0)
		syscall(SYS_inotify_rm_watch, inotify, wd);
	return wd < 0 ? wd : 0;
}
ACT(watch, watched(syscall(SYS_inotify_add_watch, J(inotify), p, J(IN_DELETE_SELF))))
ACT(watch_nofollow, watched(syscall(SYS_inotify_add_watch, J(inotify), p, J(IN_DELETE_SELF | IN_DONT_FOLLOW))))
ACT(watch_dir, watched(syscall(SYS_inotify_add_watch, J(inotify), p, J(IN_CREATE | IN_ONLYDIR))))
ACT(watch_badfd, watched(syscall(SYS_inotify_add_watch, J(999), p, J(IN_CREATE))))
ACT(watch_nomask, watched(syscall(SYS_inotify_add_watch, J(inotify), p, J(0))))

// names
ACT(unlinkat_, syscall(SYS_unlinkat, dfd, p, J(0)))
ACT(unlinkat_dir, syscall(SYS_unlinkat, dfd, p, J(AT_REMOVEDIR)))
ACT(unlinkat_bad, syscall(SYS_unlinkat, dfd, p, J(AT_SYMLINK_NOFOLLOW)))
#define CWD J(AT_FDCWD)
ACT(renameat_from, syscall(SYS_renameat, dfd, p, CWD, "new"))
ACT(renameat_to, syscall(SYS_renameat, CWD, "f", dfd, p))
ACT(renameat_dirto, syscall(SYS_renameat, CWD, "d", dfd, p))
ACT(renameat_into, syscall(SYS_renameat, CWD, "full", CWD, "full/sub/x"))
ACT(renameat_same, syscall(SYS_renameat, dfd, p, dfd, p))
ACT(renameat_over, syscall(SYS_renameat, dfd, p, CWD, "full"))
ACT(renameat_nowhere, syscall(SYS_renameat, dfd, p, CWD, "absent/new"))
ACT(renameat_out, syscall(SYS_renameat, dfd, p, CWD, other))
ACT(rename2_noreplace, syscall(SYS_renameat2, CWD, "f", dfd, p, J(RENAME_NOREPLACE)))
ACT(rename2_from, syscall(SYS_renameat2, dfd, p, CWD, "new", J(RENAME_NOREPLACE)))
ACT(rename2_exchange, syscall(SYS_renameat2, CWD, "f", dfd, p, J(RENAME_EXCHANGE)))
ACT(rename2_exchange_dir, syscall(SYS_renameat2, CWD, "d", dfd, p, J(RENAME_EXCHANGE)))
ACT(rename2_both, syscall(SYS_renameat2, CWD, "f", dfd, p, J(RENAME_NOREPLACE | RENAME_EXCHANGE)))
ACT(rename2_bad, syscall(SYS_renameat2, CWD, "f", dfd, p, J(64)))
ACT(mkdirat_, syscall(SYS_mkdirat, dfd, p, J(0755)))
ACT(linkat_from, syscall(SYS_linkat, dfd, p, CWD, "new", J(0)))
ACT(linkat_follow, syscall(SYS_linkat, dfd, p, CWD, "new", J(AT_SYMLINK_FOLLOW)))
ACT(linkat_empty, syscall(SYS_linkat, dfd, p, CWD, "new", J(AT_EMPTY_PATH)))
ACT(linkat_to, syscall(SYS_linkat, CWD, "f", dfd, p, J(0)))
ACT(linkat_dirto, syscall(SYS_linkat, CWD, "d", dfd, p, J(0)))
ACT(linkat_out, syscall(SYS_linkat, dfd, p, CWD, other, J(0)))
ACT(linkat_bad, syscall(SYS_linkat, CWD, "f", dfd, p, J(1)))
ACT(symlinkat_, syscall(SYS_symlinkat, "target", dfd, p))
ACT(symlinkat_empty, syscall(SYS_symlinkat, "", dfd, p))
ACT(symlinkat_null, syscall(SYS_symlinkat, 0, dfd, p))
ACT(symlinkat_text, syscall(SYS_symlinkat, p, CWD, "new"))
ACT(mknodat_, syscall(SYS_mknodat, dfd, p, J(S_IFREG | 0644), J(0)))
ACT(mknodat_zero, syscall(SYS_mknodat, dfd, p, J(0644), J(0)))
ACT(mknodat_fifo, syscall(SYS_mknodat, dfd, p, J(S_IFIFO | 0644), J(0)))
ACT(mknodat_sock, syscall(SYS_mknodat, dfd, p, J(S_IFSOCK | 0644), J(0)))
ACT(mknodat_dir, syscall(SYS_mknodat, dfd, p, J(S_IFDIR | 0755), J(0)))
ACT(mknodat_link, syscall(SYS_mknodat, dfd, p, J(S_IFLNK | 0755), J(0)))
ACT(mknodat_bad, syscall(SYS_mknodat, dfd, p, J(S_IFMT), J(0)))

// content and metadata
ACT(truncate_, syscall(SYS_truncate, p, 1l))
ACT(truncate_neg, syscall(SYS_truncate, p, -1l))
ACT(truncate_huge, syscall(SYS_truncate, p, 0x7fffffffffffffffl))
ACT(fchmodat_, syscall(SYS_fchmodat, dfd, p, J(0755)))
ACT(fchmodat2_, syscall(SYS_fchmodat2, dfd, p, J(0755), J(0)))
ACT(fchmodat2_nofollow, syscall(SYS_fchmodat2, dfd, p, J(0755), J(AT_SYMLINK_NOFOLLOW)))
ACT(fchmodat2_empty, syscall(SYS_fchmodat2, dfd, p, J(0755), J(AT_EMPTY_PATH)))
ACT(fchmodat2_bad, syscall(SYS_fchmodat2, dfd, p, J(0755), J(1)))
ACT(fchownat_, syscall(SYS_fchownat, dfd, p, J(-1), J(getgid()), J(0)))
ACT(fchownat_nofollow, syscall(SYS_fchownat, dfd, p, J(-1), J(getgid()), J(AT_SYMLINK_NOFOLLOW)))
ACT(fchownat_empty, syscall(SYS_fchownat, dfd, p, J(-1), J(getgid()), J(AT_EMPTY_PATH)))
ACT(fchownat_bad, syscall(SYS_fchownat, dfd, p, J(-1), J(-1), J(1)))
static struct timespec past[2] = {{1000, 0}, {1000, 0}}, badTime[2] = {{0, 1000000000}, {0, 0}}, omit[2] = {{0, UTIME_OMIT}, {0, UTIME_OMIT}};
static struct timeval tv[2] = {{1000, 0}, {1000, 0}}, badTv[2] = {{0, 1000000}, {0, 0}};
ACT(utimensat_, syscall(SYS_utimensat, dfd, p, past, J(0)))
ACT(utimensat_now, syscall(SYS_utimensat, dfd, p, 0, J(0)))
ACT(utimensat_nofollow, syscall(SYS_utimensat, dfd, p, past, J(AT_SYMLINK_NOFOLLOW)))
ACT(utimensat_empty, syscall(SYS_utimensat, dfd, p, past, J(AT_EMPTY_PATH)))
ACT(utimensat_omit, syscall(SYS_utimensat, dfd, p, omit, J(0)))
ACT(utimensat_time, syscall(SYS_utimensat, dfd, p, badTime, J(0)))
ACT(utimensat_ptr, syscall(SYS_utimensat, dfd, p, 8, J(0)))
ACT(utimensat_bad, syscall(SYS_utimensat, dfd, p, past, J(1)))
ACT(setxattr_, syscall(SYS_setxattr, p, "user.x", "1", 1ul, J(0)))
ACT(setxattr_create, syscall(SYS_setxattr, p, "user.x", "1", 1ul, J(XATTR_CREATE)))
ACT(setxattr_ns, syscall(SYS_setxattr, p, "nospace.x", "1", 1ul, J(0)))
ACT(setxattr_null, syscall(SYS_setxattr, p, 0, "1", 1ul, J(0)))
ACT(setxattr_flags, syscall(SYS_setxattr, p, "user.x", "1", 1ul, J(64)))
ACT(setxattr_big, syscall(SYS_setxattr, p, "user.x", "1", 1ul << 20, J(0)))
ACT(lsetxattr_, syscall(SYS_lsetxattr, p, "user.x", "1", 1ul, J(0)))
ACT(removexattr_, syscall(SYS_removexattr, p, "user.x"))
ACT(removexattr_none, syscall(SYS_removexattr, p, "user.absent"))
ACT(lremovexattr_, syscall(SYS_lremovexattr, p, "user.x"))

// programs and sockets
static char *args[] = {"x", "run", 0};
#define EXEC(id, call)                                 \
	static long id(unsigned long dfd, const char *p) \
	{                                                \
		(void)dfd;                               \
		*shared = 0;                             \
		long pid = vfork();                      \
		if (pid == 0) {                          \
			call;                            \
			*shared = errno;                 \
			_exit(0);                        \
		}                                        \
		return ran(pid);                         \
	}
EXEC(execve_, syscall(SYS_execve, p, args, environ))
EXEC(execve_argv, syscall(SYS_execve, p, 8, environ))
EXEC(execveat_, syscall(SYS_execveat, dfd, p, args, environ, J(0)))
EXEC(execveat_nofollow, syscall(SYS_execveat, dfd, p, args, environ, J(AT_SYMLINK_NOFOLLOW)))
EXEC(execveat_empty, syscall(SYS_execveat, dfd, p, args, environ, J(AT_EMPTY_PATH)))
EXEC(execveat_bad, syscall(SYS_execveat, dfd, p, args, environ, J(1)))

static long plugged(const char *p, int type, long (*call)(int, const struct sockaddr_un *, int))
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	size_t n = strlen(p);
	long r;
	int s;
	if (n > sizeof un.sun_path) {
		snprintf(extra, sizeof extra, " not done");
		return 0;
	}
	memcpy(un.sun_path, p, n);
	s = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	r = call(s, &un, offsetof(struct sockaddr_un, sun_path) + n + (n < sizeof un.sun_path));
	n = errno;
	close(s);
	errno = n;
	return r;
}
static long doBind(int s, const struct sockaddr_un *u, int n) { return syscall(SYS_bind, J(s), u, J(n)); }
static long doConnect(int s, const struct sockaddr_un *u, int n) { return syscall(SYS_connect, J(s), u, J(n)); }
static long doSend(int s, const struct sockaddr_un *u, int n) { return syscall(SYS_sendto, J(s), "x", 1ul, J(0), u, J(n)); }
ACT(bind_unix, plugged(p, SOCK_STREAM, doBind))
ACT(connect_unix, plugged(p, SOCK_STREAM, doConnect))
ACT(connect_dgram, plugged(p, SOCK_DGRAM, doConnect))
ACT(sendto_unix, plugged(p, SOCK_DGRAM, doSend))

#ifdef SYS_open // the calls that only amd64 has
#define OPEN(id, flags) ACT(id, opened(syscall(SYS_open, p, J((flags) | O_NONBLOCK), J(0644))))
OPEN(open_r, O_RDONLY)
OPEN(open_w, O_WRONLY)
OPEN(open_creat, O_WRONLY | O_CREAT)
OPEN(open_excl, O_WRONLY | O_CREAT | O_EXCL)
ACT(creat_, opened(syscall(SYS_creat, p, J(0644))))
ACT(stat_, stated(syscall(SYS_stat, p, &st), &st))
ACT(lstat_, stated(syscall(SYS_lstat, p, &st), &st))
ACT(stat_null, syscall(SYS_stat, p, 0))
ACT(access_f, syscall(SYS_access, p, J(F_OK)))
ACT(access_w, syscall(SYS_access, p, J(W_OK)))
ACT(access_rx, syscall(SYS_access, p, J(R_OK | X_OK)))
ACT(readlink_, syscall(SYS_readlink, p, value, J(sizeof value)) < 0 ? -1 : 0)
ACT(unlink_, syscall(SYS_unlink, p))
ACT(rmdir_, syscall(SYS_rmdir, p))
ACT(rename_from, syscall(SYS_rename, p, "new"))
ACT(rename_to, syscall(SYS_rename, "f", p))
ACT(rename_dirto, syscall(SYS_rename, "d", p))
ACT(mkdir_, syscall(SYS_mkdir, p, J(0755)))
ACT(link_from, syscall(SYS_link, p, "new"))
ACT(link_to, syscall(SYS_link, "f", p))
ACT(symlink_, syscall(SYS_symlink, "target", p))
ACT(mknod_, syscall(SYS_mknod, p, J(S_IFREG | 0644), J(0)))
ACT(chmod_, syscall(SYS_chmod, p, J(0755)))
ACT(chown_, syscall(SYS_chown, p, J(-1), J(getgid())))
ACT(lchown_, syscall(SYS_lchown, p, J(-1), J(getgid())))
static struct utimbuf ut = {1000, 1000};
ACT(utime_, syscall(SYS_utime, p, &ut))
ACT(utime_now, syscall(SYS_utime, p, 0))
ACT(utime_ptr, syscall(SYS_utime, p, 8))
ACT(utimes_, syscall(SYS_utimes, p, tv))
ACT(utimes_bad, syscall(SYS_utimes, p, badTv))
ACT(futimesat_, syscall(SYS_futimesat, dfd, p, tv))
ACT(futimesat_bad, syscall(SYS_futimesat, dfd, p, badTv))
#endif

// Kinds of calls, for what they may be tried on. MINOR: a variant of another call, for a
// few names only.
enum { AT = 1, LOOK = 2, OPENS = 4, ENTRY = 8, ATTR = 16, EXECS = 32, SOCK = 64, CHANGES = 128, MINOR = 256 };
static const struct call {
	const char *name;
	act *f;
	int kind;
} calls[] = {
#define C(f, kind) {#f, f, kind},
	C(openat_r, AT | OPENS) C(openat_w, AT | OPENS) C(openat_rw, AT | OPENS) C(openat_3, MINOR | AT | OPENS) C(openat_append, MINOR | AT | OPENS)
	C(openat_trunc, AT | OPENS | CHANGES) C(openat_creat, AT | OPENS | CHANGES) C(openat_creat_r, MINOR | AT | OPENS | CHANGES) C(openat_excl, AT | OPENS | CHANGES)
	C(openat_creat_nofollow, AT | OPENS | CHANGES) C(openat_creat_dir, AT | OPENS | CHANGES) C(openat_creat_trunc, AT | OPENS | CHANGES)
	C(openat_dir, AT | OPENS) C(openat_dir_w, MINOR | AT | OPENS) C(openat_nofollow, AT | OPENS) C(openat_w_nofollow, AT | OPENS) C(openat_path, AT | OPENS)
	C(openat_path_nofollow, AT | OPENS) C(openat_path_creat, MINOR | AT | OPENS) C(openat_path_dir, MINOR | AT | OPENS) C(openat_tmp, AT | OPENS) C(openat_tmp_r, MINOR | AT | OPENS)
	C(openat_tmp_bit, MINOR | AT | OPENS) C(openat_excl_only, MINOR | AT | OPENS) C(openat_direct, MINOR | AT | OPENS) C(openat_noatime, MINOR | AT | OPENS) C(openat_unknown, MINOR | AT | OPENS)
	C(openat2_r, AT | OPENS) C(openat2_w, AT | OPENS) C(openat2_creat, AT | OPENS | CHANGES) C(openat2_mode, MINOR | AT | OPENS) C(openat2_flags, MINOR | AT | OPENS)
	C(openat2_flags27, MINOR | AT | OPENS) C(openat2_path_flags, MINOR | AT | OPENS) C(openat2_badmode, MINOR | AT | OPENS) C(openat2_resolve, MINOR | AT | OPENS) C(openat2_both, MINOR | AT | OPENS)
	C(openat2_short, MINOR | AT | OPENS) C(openat2_zero, MINOR | AT | OPENS) C(openat2_long, MINOR | AT | OPENS) C(openat2_page, MINOR | AT | OPENS) C(openat2_toolong, MINOR | AT | OPENS)
	C(openat2_beneath, AT | OPENS) C(openat2_inroot, AT | OPENS) C(openat2_nolinks, AT | OPENS) C(openat2_nolinks_w, MINOR | AT | OPENS) C(openat2_nomagic, MINOR | AT | OPENS)
	C(openat2_noxdev, MINOR | AT | OPENS) C(openat2_beneath_creat, AT | OPENS | CHANGES) C(openat2_null, MINOR | AT | OPENS) C(openat2_more, MINOR | AT | OPENS)
	C(newfstatat, AT | LOOK) C(newfstatat_nofollow, AT | LOOK) C(newfstatat_empty, AT | LOOK) C(newfstatat_bad, MINOR | AT | LOOK) C(newfstatat_null, MINOR | AT | LOOK)
	C(statx_plain, AT | LOOK) C(statx_nofollow, MINOR | AT | LOOK) C(statx_empty, MINOR | AT | LOOK) C(statx_bad, MINOR | AT | LOOK) C(statx_reserved, MINOR | AT | LOOK)
	C(faccessat_f, AT | LOOK) C(faccessat_r, AT | LOOK) C(faccessat_w, AT | OPENS) C(faccessat_x, AT | LOOK) C(faccessat_bad, MINOR | AT | LOOK)
	C(faccessat2_w, AT | OPENS) C(faccessat2_eaccess, MINOR | AT | LOOK) C(faccessat2_nofollow, AT | LOOK) C(faccessat2_empty, AT | LOOK) C(faccessat2_bad, MINOR | AT | LOOK)
	C(readlinkat_, AT | LOOK) C(readlinkat_cut, MINOR | AT | LOOK) C(readlinkat_zero, MINOR | AT | LOOK) C(readlinkat_neg, MINOR | AT | LOOK) C(readlinkat_null, MINOR | AT | LOOK)
	C(chdir_, LOOK) C(statfs_, LOOK) C(statfs_null, MINOR | LOOK)
	C(getxattr_, LOOK) C(getxattr_size, MINOR | LOOK) C(getxattr_none, MINOR | LOOK) C(getxattr_ns, MINOR | LOOK) C(getxattr_label, MINOR | LOOK) C(getxattr_acl, MINOR | LOOK)
	C(getxattr_noname, MINOR | LOOK) C(getxattr_null, MINOR | LOOK) C(getxattr_255, MINOR | LOOK) C(getxattr_256, MINOR | LOOK) C(lgetxattr_, LOOK) C(listxattr_, LOOK) C(llistxattr_, LOOK)
	C(getxattrat_, AT | LOOK) C(getxattrat_empty, AT | LOOK) C(getxattrat_bad, MINOR | AT | LOOK) C(listxattrat_, AT | LOOK)
	C(setxattrat_, AT | ATTR) C(setxattrat_nofollow, MINOR | AT | ATTR) C(removexattrat_, AT | ATTR | CHANGES)
	C(file_getattr_, AT | LOOK) C(file_getattr_bad, MINOR | AT | LOOK) C(file_setattr_short, MINOR | AT | ATTR)
	C(handle_plain, AT | LOOK) C(handle_follow, AT | LOOK) C(handle_empty, AT | LOOK) C(handle_small, MINOR | AT | LOOK) C(handle_bad, MINOR | AT | LOOK)
	C(watch, LOOK) C(watch_nofollow, LOOK) C(watch_dir, LOOK) C(watch_badfd, MINOR | LOOK) C(watch_nomask, MINOR | LOOK)
	C(unlinkat_, AT | ENTRY | CHANGES) C(unlinkat_dir, AT | ENTRY | CHANGES) C(unlinkat_bad, MINOR | AT | ENTRY)
	C(renameat_from, AT | ENTRY | CHANGES) C(renameat_to, AT | ENTRY | CHANGES) C(renameat_dirto, AT | ENTRY | CHANGES) C(renameat_into, MINOR | ENTRY | CHANGES)
	C(renameat_same, AT | ENTRY | CHANGES) C(renameat_over, AT | ENTRY | CHANGES) C(renameat_nowhere, MINOR | AT | ENTRY | CHANGES) C(renameat_out, AT | ENTRY | CHANGES)
	C(rename2_noreplace, AT | ENTRY | CHANGES) C(rename2_from, AT | ENTRY | CHANGES) C(rename2_exchange, AT | ENTRY | CHANGES)
	C(rename2_exchange_dir, MINOR | AT | ENTRY | CHANGES) C(rename2_both, MINOR | AT | ENTRY) C(rename2_bad, MINOR | AT | ENTRY)
	C(mkdirat_, AT | ENTRY | CHANGES) C(linkat_from, AT | ENTRY | CHANGES) C(linkat_follow, AT | ENTRY | CHANGES) C(linkat_empty, AT | ENTRY | CHANGES)
	C(linkat_to, AT | ENTRY | CHANGES) C(linkat_dirto, AT | ENTRY | CHANGES) C(linkat_out, AT | ENTRY | CHANGES) C(linkat_bad, MINOR | AT | ENTRY)
	C(symlinkat_, AT | ENTRY | CHANGES) C(symlinkat_empty, MINOR | AT | ENTRY) C(symlinkat_null, MINOR | AT | ENTRY) C(symlinkat_text, ENTRY | CHANGES)
	C(mknodat_, AT | ENTRY | CHANGES) C(mknodat_zero, MINOR | AT | ENTRY | CHANGES) C(mknodat_fifo, AT | ENTRY | CHANGES) C(mknodat_sock, MINOR | AT | ENTRY | CHANGES)
	C(mknodat_dir, MINOR | AT | ENTRY) C(mknodat_link, MINOR | AT | ENTRY) C(mknodat_bad, MINOR | AT | ENTRY)
	C(truncate_, OPENS | CHANGES) C(truncate_neg, MINOR | OPENS) C(truncate_huge, MINOR | OPENS | CHANGES)
	C(fchmodat_, AT | ATTR | CHANGES) C(fchmodat2_, AT | ATTR | CHANGES) C(fchmodat2_nofollow, AT | ATTR | CHANGES) C(fchmodat2_empty, AT | ATTR | CHANGES) C(fchmodat2_bad, MINOR | AT | ATTR)
	C(fchownat_, AT | ATTR) C(fchownat_nofollow, AT | ATTR) C(fchownat_empty, AT | ATTR) C(fchownat_bad, MINOR | AT | ATTR)
	C(utimensat_, AT | ATTR) C(utimensat_now, MINOR | AT | ATTR) C(utimensat_nofollow, AT | ATTR) C(utimensat_empty, AT | ATTR) C(utimensat_omit, MINOR | AT | ATTR)
	C(utimensat_time, MINOR | AT | ATTR) C(utimensat_ptr, MINOR | AT | ATTR) C(utimensat_bad, MINOR | AT | ATTR)
	C(setxattr_, ATTR | CHANGES) C(setxattr_create, MINOR | ATTR | CHANGES) C(setxattr_ns, MINOR | ATTR) C(setxattr_null, MINOR | ATTR) C(setxattr_flags, MINOR | ATTR) C(setxattr_big, MINOR | ATTR) C(lsetxattr_, ATTR | CHANGES)
	C(removexattr_, ATTR | CHANGES) C(removexattr_none, MINOR | ATTR) C(lremovexattr_, ATTR | CHANGES)
	C(execve_, EXECS) C(execve_argv, MINOR | EXECS) C(execveat_, AT | EXECS) C(execveat_nofollow, AT | EXECS) C(execveat_empty, AT | EXECS) C(execveat_bad, MINOR | AT | EXECS)
	C(bind_unix, SOCK | ENTRY | CHANGES) C(connect_unix, SOCK | OPENS) C(connect_dgram, SOCK | OPENS) C(sendto_unix, SOCK | OPENS)
#ifdef SYS_open
	C(open_r, OPENS) C(open_w, OPENS) C(open_creat, OPENS | CHANGES) C(open_excl, OPENS | CHANGES) C(creat_, OPENS | CHANGES)
	C(stat_, LOOK) C(lstat_, LOOK) C(stat_null, MINOR | LOOK) C(access_f, LOOK) C(access_w, OPENS) C(access_rx, LOOK) C(readlink_, LOOK)
	C(unlink_, ENTRY | CHANGES) C(rmdir_, ENTRY | CHANGES) C(rename_from, ENTRY | CHANGES) C(rename_to, ENTRY | CHANGES) C(rename_dirto, ENTRY | CHANGES)
	C(mkdir_, ENTRY | CHANGES) C(link_from, ENTRY | CHANGES) C(link_to, ENTRY | CHANGES) C(symlink_, ENTRY | CHANGES) C(mknod_, ENTRY | CHANGES)
	C(chmod_, ATTR | CHANGES) C(chown_, ATTR) C(lchown_, ATTR) C(utime_, ATTR) C(utime_now, MINOR | ATTR) C(utime_ptr, MINOR | ATTR) C(utimes_, ATTR) C(utimes_bad, MINOR | ATTR)
	C(futimesat_, AT | ATTR) C(futimesat_bad, MINOR | AT | ATTR)
#endif
};

// situations: a name, and what it starts from
// NOCHANGE: an object of the machine, which only calls that cannot change anything may
// name. FAST: one whose name the kernel lets nobody take away or make (the root
// directory, proc), so that calls on names may be tried on it by root too.
enum { PTR = 1, OUT = 2, NOCHANGE = 4, HIGH = 8, FAST = 16, SIMPLE = 32 };
struct situation {
	const char *name, *path;
	int dfd; // 0: AT_FDCWD
	int flags;
};
static struct situation list[256];
static int count;

static void add(const char *name, const char *path, int dfd, int flags)
{
	if (count == 256)
		die("too many situations");
	list[count++] = (struct situation){name, path, dfd, flags};
}

static int simple(const char *path)
{
	static const char *const names[] = {"f", "f/", "d", "d/.", "full", "link", "dangling", "loop", "new", "absent/new", "", "noread", "x", "noperm/new"};
	for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
		if (!strcmp(names[i], path))
			return SIMPLE;
	return 0;
}

static char *repeat(const char *unit, size_t length, const char *last)
{
	char *s = malloc(length + strlen(unit) + 1);
	size_t n = 0, tail = strlen(last);
	while (n < length - tail) {
		strcpy(s + n, unit);
		n += strlen(unit);
	}
	strcpy(s + length - tail, last);
	return s;
}

static char *pages(int n, int prot)
{
	char *m = mmap(0, (n + 1) * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (m == MAP_FAILED)
		die("mmap");
	strcpy(m, "f");
	if (mprotect(m, n * 4096, prot) || mprotect(m + n * 4096, 4096, PROT_NONE))
		die("mprotect");
	return m;
}

static void situations(void)
{
	static const char *const plain[] = {
		"f", "f/", "f/.", "f/..", "f/x", "d", "d/", "d/.", "d/..", "d/new", "d/new/", "full", "full/", "full/.", "full/..", "full/f", "full/sub", "full/../f",
		"full/sub/../f", "link", "link/", "link/x", "dlink", "dlink/", "dlink/.", "dlink/..", "dlink/new", "fulllink", "fulllink/", "fulllink/f", "deep", "dangling",
		"dangling/", "dangling/x", "dangling-deep", "dangling-far", "dangling-slash", "loop", "loop/", "loop/x", "slashlink", "magic", "chain/39", "chain/40",
		"new", "new/", "new/.", "absent/new", "absent/../f", "f/../f", ".", "./", "./.", "..", "../.", "", "noread", "noperm", "noperm/new", "noperm/.", "text", "x",
		"script", "script-absent", "script-denied", "script-loop", "fifo", "sock", "sock/", ".//f", "./././f", "\xff\xfe\n", "g",
	};
	char *page, *s;
	int fd, i;
	for (i = 0; i < (int)(sizeof plain / sizeof *plain); i++)
		add(0, plain[i], 0, simple(plain[i]));
	add("name-255", repeat("n", 255, ""), 0, 0);
	add("name-256", repeat("n", 256, ""), 0, 0);
	add("name-256-below", repeat("n", 258, "/f"), 0, 0);
	add("name-256-absent", strcat(strcpy(malloc(600), "absent/"), repeat("n", 256, "")), 0, 0);
	add("path-4094", repeat("./", 4094, "f"), 0, 0);
	add("path-4095", repeat("/.", 4096, "/f") + 1, 0, 0);
	add("path-4095-absent", repeat("./", 4095, "/new"), 0, 0);
	add("path-4096", repeat("./", 4096, "f"), 0, 0);
	add("path-4097", repeat("./", 4097, "f"), 0, 0);
	// descriptors
	add("empty@badfd", "", 99, 0);
	add("f@badfd", "f", 99, SIMPLE);
	add("f@minus", "f", -1, 0);
	add("f@minus101", "f", -101, 0);
	add("new@badfd", "new", 99, 0);
	add("name-256@badfd", repeat("n", 256, ""), 99, 0);
	add("null@badfd", 0, 99, PTR);
	add("f@dir", "f", 20, 0);
	add("new@dir", "new", 20, 0);
	add("..@dir", "../f", 20, 0);
	add("empty@dir", "", 20, 0);
	add("null@dir", 0, 20, PTR);
	add("f@pathdir", "f", 21, 0);
	add("empty@pathdir", "", 21, 0);
	add("f@file", "f", 22, 0);
	add("empty@file", "", 22, SIMPLE);
	add("null@file", 0, 22, PTR);
	add("new@file", "new", 22, 0);
	add("empty@pathfile", "", 23, 0);
	add("empty@pathlink", "", 24, 0);
	add("f@pipe", "f", 25, 0);
	add("empty@pipe", "", 25, 0);
	add("f@removed", "f", 26, 0);
	add("new@removed", "new", 26, 0);
	add("..@removed", "../f", 26, NOCHANGE);
	add("empty@removed", "", 26, 0);
	// words with a high half that is not theirs
	add("f-junk", "f", 0, HIGH | SIMPLE);
	add("d-junk", "d", 0, HIGH);
	add("link-junk", "link", 0, HIGH);
	add("new-junk", "new", 0, HIGH);
	add("empty-junk", "", 0, HIGH);
	add("f@dir-junk", "f", 20, HIGH);
	add("empty@file-junk", "", 22, HIGH);
	add("f@badfd-junk", "f", 99, HIGH);
	// pointers
	add("null", 0, 0, PTR | SIMPLE);
	add("one", (char *)1, 0, PTR);
	add("first-page", (char *)4095, 0, PTR);
	page = pages(1, PROT_NONE);
	add("prot-none", page, 0, PTR | SIMPLE);
	page = pages(1, PROT_WRITE);
	add("write-only", page, 0, PTR);
	page = pages(1, PROT_EXEC);
	add("exec-only", page, 0, PTR);
	page = pages(1, PROT_READ);
	munmap(page, 4096);
	add("unmapped", page, 0, PTR);
	add("kernel", (char *)0xffff888000000000, 0, PTR);
	add("not-canonical", (char *)0x8000000000000000, 0, PTR);
	add("last-page", (char *)-1, 0, PTR);
	page = pages(1, PROT_READ | PROT_WRITE);
	s = page + 4096 - sizeof "full/f";
	strcpy(s, "full/f");
	add("page-end", s, 0, PTR);
	page = pages(1, PROT_READ | PROT_WRITE);
	memset(page, 'n', 4096);
	add("no-end", page + 4000, 0, PTR);
	add("no-end-full-page", page, 0, PTR);
	page = pages(2, PROT_READ | PROT_WRITE);
	memset(page, '/', 8192);
	memcpy(page, ".", 1);
	strcpy(page + 4095, "f");
	add("path-long-two-pages", page, 0, PTR);
	strcpy(page + 4080, "./././././././././f");
	add("across-pages", page + 4080, 0, PTR);
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	s = mmap(0, 1 << 20, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	add("behind-the-file", s + (1 << 20) - 4096, 0, PTR); // SIGBUS for who reads it himself
	// outside
	add("root", "/", 0, OUT | NOCHANGE | FAST);
	add("root-dots", "/..", 0, OUT | NOCHANGE | FAST);
	add("slashes", "//", 0, OUT | NOCHANGE | FAST);
	add("/dev/null", "/dev/null", 0, OUT | NOCHANGE);
	add("proc", "/proc/version", 0, OUT | NOCHANGE | FAST);
	add("proc-absent", "/proc/absent", 0, OUT);
	add("proc-self", "/proc/self", 0, OUT);
	add("proc-self-comm", "/proc/self/comm", 0, OUT | NOCHANGE | FAST);
	add("proc-cwd", "/proc/self/cwd/f", 0, OUT);
	add("proc-cwd-alone", "/proc/self/cwd", 0, OUT);
	add("proc-fd", "/proc/self/fd/22", 0, OUT);
	add("proc-fd-dir", "/proc/self/fd/20/f", 0, OUT);
	add("proc-fd-absent", "/proc/self/fd/99", 0, OUT);
	add("proc-thread", "/proc/thread-self/fd/22", 0, OUT);
	add("dev-fd", "/dev/fd/22", 0, OUT);
	add("proc-fd-pipe", "/proc/self/fd/25", 0, OUT | NOCHANGE | FAST);
	add("proc-exe", "/proc/self/exe", 0, OUT | NOCHANGE | FAST);
	add("no-entry", "/root/absent/new", 0, OUT);
	add("ro", "../../ro/f", 0, OUT);
	add("ro-dir", "../../ro/d", 0, OUT);
	add("ro-new", "../../ro/new", 0, OUT);
	add("root@badfd", "/", 99, OUT | NOCHANGE | FAST);
}

// descriptors the situations name; made again with the fixtures
static void descriptors(void)
{
	static const struct {
		const char *name;
		int flags, at;
	} d[] = {{"full", O_RDONLY | O_DIRECTORY, 20}, {"full", O_PATH | O_DIRECTORY, 21}, {"f", O_RDONLY, 22}, {"f", O_PATH, 23}, {"link", O_PATH | O_NOFOLLOW, 24}};
	int i, fd;
	for (i = 0; i < 5; i++) {
		fd = open(d[i].name, d[i].flags);
		if (fd < 0 && errno == EPERM) // denied: what a program could have instead
			fd = open(d[i].name, O_PATH);
		if (fd < 0 || dup3(fd, d[i].at, O_CLOEXEC) < 0)
			die("open for a descriptor");
		close(fd);
	}
}

static void one(const struct call *c, const struct situation *s)
{
	unsigned long dfd;
	long r;
	int e;
	if (s->dfd && !(c->kind & AT))
		return;
	if (c->kind & MINOR && !(s->flags & SIMPLE))
		return;
	if (s->flags & PTR && c->kind & SOCK)
		return;
	if (!strcmp(c->name, "creat_") && !(s->flags & PTR) && !strcmp(s->path, "fifo"))
		return; // creat has no O_NONBLOCK: it would wait for a reader
	if (s->flags & NOCHANGE && c->kind & (ATTR | ENTRY | CHANGES) && !(c->kind & ENTRY && s->flags & FAST))
		return;
	junk = s->flags & HIGH ? 0xdeadbeef00000000 : 0;
	dfd = J(s->dfd ? s->dfd : AT_FDCWD);
	extra[0] = 0;
	r = c->f(dfd, s->path);
	e = errno;
	printf("%s ", c->name);
	if (s->name)
		printf("%s ", s->name);
	else
		for (const char *p = s->path; *p || p == s->path; p++) {
			if (!*p) {
				printf("''");
				break;
			}
			printf(*p > ' ' && *p < 127 ? "%c" : "\\%o", (unsigned char)*p);
		}
	if (!s->name)
		putchar(' ');
	if (r >= 0)
		printf("ok%s\n", extra);
	else
		printf("%s\n", strerrorname_np(e) ? strerrorname_np(e) : "unknown");
	if (r >= 0 && c->kind & CHANGES && !keep) {
		rebuild();
		descriptors();
	}
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	int i, k, p[2], gone;
	if (!strcmp(mode, "run"))
		return argc; // started by the exec acts
	if (argc < 3)
		return 2;
	if (!realpath("/proc/self/exe", self) || (mkdir(argv[2], 0755) && errno != EEXIST) || chdir(argv[2]) || !getcwd(base, sizeof base))
		die(argv[2]);
	shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	memset(name255, 'n', 255);
	memset(name256, 'n', 256);
	memcpy(name255, "user.", 5);
	memcpy(name256, "user.", 5);
	umask(022);
	alarm(60); // rather than hang
	keep = !strcmp(mode, "keep");
	if (!keep)
		rebuild();
	if (!strcmp(mode, "build"))
		return 0;
	inotify = inotify_init1(IN_CLOEXEC);
	situations();
	descriptors();
	if (pipe2(p, O_CLOEXEC) || dup3(p[0], 25, O_CLOEXEC) < 0)
		die("pipe");
	snprintf(other, sizeof other, "/dev/shm/ptguard-errno-%d", getpid()); // another file system
	if (argc > 3) { // a folder that may be written, for a directory that is gone
		char gonePath[4096];
		snprintf(gonePath, sizeof gonePath, "%s/gone", argv[3]);
		if (mkdir(gonePath, 0755) || (gone = open(gonePath, O_RDONLY | O_DIRECTORY)) < 0 || dup3(gone, 26, O_CLOEXEC) < 0 || rmdir(gonePath))
			die(gonePath);
		close(gone);
	}
	for (i = 0; i < (int)(sizeof calls / sizeof *calls); i++)
		for (k = 0; k < count; k++)
			if (!strcmp(mode, "all") || !(list[k].flags & OUT))
				one(&calls[i], &list[k]);
	return 0;
}
