// SPDX-License-Identifier: Apache-2.0
// creat(2) of a flipped name.
#include "mutate.h"

static void act(const char *name) { close((int)syscall(SYS_creat, name, 0644)); }

int main(void) { mutate("n", act, take, there); }
