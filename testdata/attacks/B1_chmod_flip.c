// SPDX-License-Identifier: Apache-2.0
// chmod(2) of a flipped name.
#include "mutate.h"

static void act(const char *name) { chmod(name, 0600); }

int main(void) { mutate("v", act, nothing, touched); }
