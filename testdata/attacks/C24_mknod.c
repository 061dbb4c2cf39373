// SPDX-License-Identifier: Apache-2.0
//
// C24: mknod.
#include "cfgh.h"

int main(void) { verdict(mknod(outside("p"), S_IFIFO | 0644, 0)); }
