// SPDX-License-Identifier: Apache-2.0
// A file below a denied folder, reached by a descriptor of a very deep folder within and many "..".
#include "attack.h"

int main(void)
{
	static char name[4096];
	strcpy(name, "denied");
	for (int i = 0; i < 600; i++)
		strcat(name, i % 2 ? "/./" : "//");
	strcat(name, "sub/../new");
	verdict(open(name, O_WRONLY | O_CREAT, 0600));
}
