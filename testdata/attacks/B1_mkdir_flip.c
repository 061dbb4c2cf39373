// SPDX-License-Identifier: Apache-2.0
// mkdir(2) of a flipped name.
#include "mutate.h"

static void again(const char *allowed) { rmdir(allowed); }
static void act(const char *name) { mkdir(name, 0755); }

int main(void) { mutate("n", act, again, there); }
