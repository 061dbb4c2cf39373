// SPDX-License-Identifier: Apache-2.0
//
// G12: bpf makes a map. Needs CAP_BPF.
#include "cfgh.h"
#include <linux/bpf.h>

int main(void)
{
	union bpf_attr a = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
	verdict(syscall(SYS_bpf, BPF_MAP_CREATE, &a, sizeof a));
}
