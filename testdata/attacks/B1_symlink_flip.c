// SPDX-License-Identifier: Apache-2.0
// symlink(2) whose name is flipped.
#include "mutate.h"

static void act(const char *name) { symlink("x", name); }

int main(void) { mutate("n", act, take, there); }
