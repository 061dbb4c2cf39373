// SPDX-License-Identifier: Apache-2.0
//
// C18: rename of another file over the secret.
#include "cfgh.h"

int main(void) { verdict(rename("secreT", "secret")); }
