// SPDX-License-Identifier: Apache-2.0
// The name lies in memory without read permission, which process_vm_readv(2) cannot read.
#include "attack.h"

int main(void)
{
	char *name = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (name == MAP_FAILED)
		setup("mmap");
	strcpy(name, "secret");
	must(mprotect(name, 4096, PROT_WRITE), "mprotect");
	verdict_secret(open(name, O_RDONLY));
}
