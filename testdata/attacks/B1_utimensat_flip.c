// SPDX-License-Identifier: Apache-2.0
// utimensat(2) of a flipped name.
#include "mutate.h"

static void act(const char *name) { utimensat(AT_FDCWD, name, NULL, 0); }

int main(void) { mutate("v", act, nothing, touched); }
