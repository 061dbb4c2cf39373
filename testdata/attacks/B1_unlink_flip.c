// SPDX-License-Identifier: Apache-2.0
// unlink(2) of a flipped name.
#include "mutate.h"

static void act(const char *name) { unlink(name); }

int main(void) { mutate("v", act, make, gone); }
