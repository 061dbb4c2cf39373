// SPDX-License-Identifier: Apache-2.0
// The name lies in memory that only its process can read.
#include "attack.h"

int main(void)
{
	int fd = (int)syscall(SYS_memfd_secret, 0);
	if (fd < 0)
		refused();
	must(ftruncate(fd, 4096), "ftruncate");
	char *name = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (name == MAP_FAILED)
		setup("mmap");
	strcpy(name, "secret");
	verdict_secret(open(name, O_RDONLY));
}
