// SPDX-License-Identifier: Apache-2.0
//
// C24: getxattr.
#include "cfgh.h"

int main(void)
{
	char v[8];
	verdict(getxattr("secret", "user.none", v, 1) < 0 && errno == ENODATA ? 0 : -1);
}
