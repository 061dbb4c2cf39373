// SPDX-License-Identifier: Apache-2.0
//
// C18: rename of the denied folder.
#include "cfgh.h"

int main(void) { verdict(rename("denied", "r")); }
