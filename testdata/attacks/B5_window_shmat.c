// SPDX-License-Identifier: Apache-2.0
// A System V segment is attached over the window.
#include "attack.h"
#include <sys/ipc.h>
#include <sys/shm.h>

int main(void)
{
	uintptr_t from, to;
	window_or_own(&from, &to);

	int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
	must(id, "shmget");
	void *p = shmat(id, (void *)(to - 4096), SHM_REMAP);
	int e = errno;
	shmctl(id, IPC_RMID, NULL);
	errno = e;
	verdict(p == (void *)-1 ? -1 : 0);
}
