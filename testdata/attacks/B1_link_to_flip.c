// SPDX-License-Identifier: Apache-2.0
// link(2) whose new name is flipped.
#include "mutate.h"

static void act(const char *name) { link("secreT", name); }

int main(void) { mutate("n", act, take, there); }
