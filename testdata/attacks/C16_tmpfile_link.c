// SPDX-License-Identifier: Apache-2.0
//
// C16: an unnamed file gets a name outside by linkat through /proc/self/fd.
#include "cfgh.h"

int main(void)
{
	char n[64];
	struct stat st;
	int fd = open(".", O_TMPFILE | O_RDWR, 0644);
	must(fd, "O_TMPFILE");
	snprintf(n, sizeof n, "/proc/self/fd/%d", fd);
	linkat(AT_FDCWD, n, AT_FDCWD, outside("new"), AT_SYMLINK_FOLLOW);
	int e = errno;
	linkat(fd, "", AT_FDCWD, outside("new2"), AT_EMPTY_PATH);
	errno = e;
	verdict(lstat(outside("new"), &st) && lstat(outside("new2"), &st) ? (errno = e, -1) : 0);
}
