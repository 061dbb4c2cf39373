// SPDX-License-Identifier: Apache-2.0
//
// C24: truncate.
#include "cfgh.h"

int main(void) { verdict(truncate("secret", 0)); }
