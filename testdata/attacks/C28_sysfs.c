// SPDX-License-Identifier: Apache-2.0
//
// C28: a knob below /sys; it is only opened.
#include "cfgh.h"

int main(void) { verdict(open("/sys/kernel/mm/transparent_hugepage/enabled", O_WRONLY)); }
