// SPDX-License-Identifier: Apache-2.0
// Leaves the file "ran" in its current directory and says so.
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	close(open("ran", O_CREAT | O_WRONLY, 0644));
	puts("ran");
	return 0;
}
