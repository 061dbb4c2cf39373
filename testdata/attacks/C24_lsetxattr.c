// SPDX-License-Identifier: Apache-2.0
//
// C24: lsetxattr.
#include "cfgh.h"

int main(void) { verdict(lsetxattr(outside("file"), "user.t", "1", 1, 0)); }
