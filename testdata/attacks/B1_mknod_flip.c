// SPDX-License-Identifier: Apache-2.0
// mknod(2) of a FIFO with a flipped name.
#include "mutate.h"

static void act(const char *name) { mknod(name, S_IFIFO | 0644, 0); }

int main(void) { mutate("n", act, take, there); }
