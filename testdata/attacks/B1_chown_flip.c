// SPDX-License-Identifier: Apache-2.0
// chown(2) to its own owner of a flipped name changes the status time.
#include "mutate.h"

static void act(const char *name) { if (chown(name, getuid(), getgid())) return; }

int main(void) { mutate("v", act, nothing, touched); }
