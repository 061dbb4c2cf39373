// SPDX-License-Identifier: Apache-2.0
// setxattr(2) of a flipped name.
#include "mutate.h"
#include <sys/xattr.h>

static void act(const char *name) { setxattr(name, "user.x", "v", 1, 0); }

int main(void) { mutate("v", act, nothing, touched); }
