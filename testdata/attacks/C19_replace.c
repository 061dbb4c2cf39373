// SPDX-License-Identifier: Apache-2.0
//
// C19: an editor replaces a file outside by a rename.
#include "cfgh.h"

int main(void)
{
	put("new", "mine", 0644);
	verdict(rename("new", outside("file")));
}
