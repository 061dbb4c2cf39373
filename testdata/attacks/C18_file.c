// SPDX-License-Identifier: Apache-2.0
//
// C18: rename of the secret itself.
#include "cfgh.h"

int main(void) { verdict(rename("secret", "r")); }
