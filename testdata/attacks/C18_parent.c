// SPDX-License-Identifier: Apache-2.0
//
// C18: rename of the folder above the secret.
#include "cfgh.h"

int main(void) { verdict(rename(work(""), work("../work2"))); }
