// SPDX-License-Identifier: Apache-2.0
// rename(2) whose source is flipped.
#include "mutate.h"

static void act(const char *name) { rename(name, "moved"); }

int main(void) { mutate("v", act, make, gone); }
