// SPDX-License-Identifier: Apache-2.0
//
// C18: rename of a folder that leads to a denied file (--deny {work}/p/secret).
#include "cfgh.h"

int main(void)
{
	if (!tracer())
		must(mkdir("p", 0755), "mkdir");
	else if (mkdir("p", 0755) < 0)
		setup("mkdir");
	verdict(rename("p", "q"));
}
