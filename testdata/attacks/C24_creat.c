// SPDX-License-Identifier: Apache-2.0
//
// C24: creat.
#include "cfgh.h"

int main(void) { verdict(creat(outside("c"), 0644)); }
