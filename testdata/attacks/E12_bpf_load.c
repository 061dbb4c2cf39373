// SPDX-License-Identifier: Apache-2.0
// A program is loaded into the kernel by bpf(2).
#include "attack.h"
#include <linux/bpf.h>

int main(void)
{
	struct bpf_insn code[] = {{.code = 0xb7}, {.code = 0x95}}; // r0 = 0; exit
	union bpf_attr a = {.prog_type = BPF_PROG_TYPE_SOCKET_FILTER, .insn_cnt = 2, .insns = (uintptr_t)code, .license = (uintptr_t)"GPL"};
	verdict(syscall(SYS_bpf, BPF_PROG_LOAD, &a, sizeof a));
}
