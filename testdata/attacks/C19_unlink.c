// SPDX-License-Identifier: Apache-2.0
//
// C19: the secret is removed, to be made anew.
#include "cfgh.h"

int main(void) { verdict(unlink("secret")); }
