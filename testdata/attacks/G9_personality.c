// SPDX-License-Identifier: Apache-2.0
//
// G9: READ_IMPLIES_EXEC makes every mapping executable.
#include "cfgh.h"
#include <sys/personality.h>

int main(void) { verdict(personality(READ_IMPLIES_EXEC)); }
