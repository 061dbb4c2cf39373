// SPDX-License-Identifier: Apache-2.0
// An open by io_uring, which no filter sees.
#include "attack.h"
#include <linux/io_uring.h>

int main(void)
{
	struct io_uring_params p = {0};
	int ring = (int)syscall(SYS_io_uring_setup, 4, &p);
	if (ring < 0)
		refused();
	char *sq = mmap(NULL, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
	char *cq = mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_CQ_RING);
	struct io_uring_sqe *e = mmap(NULL, p.sq_entries * sizeof *e, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
	if (sq == MAP_FAILED || cq == MAP_FAILED || e == MAP_FAILED)
		setup("mmap");
	memset(e, 0, sizeof *e);
	e->opcode = IORING_OP_OPENAT, e->fd = AT_FDCWD, e->addr = (uintptr_t)"secret", e->open_flags = O_RDONLY;
	*(unsigned *)(sq + p.sq_off.array) = 0;
	__atomic_store_n((unsigned *)(sq + p.sq_off.tail), 1, __ATOMIC_RELEASE);
	must(syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0), "io_uring_enter");
	verdict_secret(((struct io_uring_cqe *)(cq + p.cq_off.cqes))->res);
}
