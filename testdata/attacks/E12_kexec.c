// SPDX-License-Identifier: Apache-2.0
// kexec_load(2) of nothing, which drops a loaded kernel; there is none.
#include "attack.h"

int main(void)
{
	verdict(syscall(SYS_kexec_load, 0, 0, NULL, 0));
}
