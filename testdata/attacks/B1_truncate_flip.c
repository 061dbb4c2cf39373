// SPDX-License-Identifier: Apache-2.0
// truncate(2) of a flipped name.
#include "mutate.h"

static void act(const char *name) { if (truncate(name, 99)) return; }

int main(void) { mutate("v", act, nothing, touched); }
