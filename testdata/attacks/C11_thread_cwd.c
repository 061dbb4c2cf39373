// SPDX-License-Identifier: Apache-2.0
//
// C11: /proc/thread-self/cwd.
#include "cfgh.h"

int main(void) { verdict_secret(open("/proc/thread-self/cwd/secret", O_RDONLY)); }
