// SPDX-License-Identifier: Apache-2.0
//
// G16: reboot; only Ctrl-Alt-Del is set to what it is by default. Needs CAP_SYS_BOOT.
#include "cfgh.h"
#include <sys/reboot.h>

int main(void) { verdict(reboot(RB_ENABLE_CAD)); }
