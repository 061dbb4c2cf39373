// SPDX-License-Identifier: Apache-2.0
// unlinkat(2) of a flipped name.
#include "mutate.h"

static void act(const char *name) { unlinkat(AT_FDCWD, name, 0); }

int main(void) { mutate("v", act, make, gone); }
