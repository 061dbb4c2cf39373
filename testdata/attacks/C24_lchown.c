// SPDX-License-Identifier: Apache-2.0
//
// C24: lchown.
#include "cfgh.h"

int main(void) { verdict(lchown(outside("file"), (uid_t)-1, getgid())); }
