// SPDX-License-Identifier: Apache-2.0
// rename(2) whose target is flipped.
#include "mutate.h"

static void act(const char *name) { close(open("mine", O_WRONLY | O_CREAT, 0644)); rename("mine", name); }

int main(void) { mutate("n", act, take, there); }
