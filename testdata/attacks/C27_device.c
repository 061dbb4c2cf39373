// SPDX-License-Identifier: Apache-2.0
//
// C27: a device that no rule names.
#include "cfgh.h"

int main(void) { verdict(open("/dev/kmsg", O_WRONLY | O_NONBLOCK)); }
