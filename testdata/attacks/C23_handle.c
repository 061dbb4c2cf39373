// SPDX-License-Identifier: Apache-2.0
//
// C23: open_by_handle_at opens without a name. Needs CAP_DAC_READ_SEARCH.
#include "cfgh.h"

int main(void)
{
	union {
		struct file_handle h;
		char room[sizeof(struct file_handle) + 128];
	} u = {.h = {.handle_bytes = 128}};
	int id, d = open(".", O_RDONLY | O_DIRECTORY);
	must(d, "open");
	must(name_to_handle_at(AT_FDCWD, "secret", &u.h, &id, 0), "name_to_handle_at");
	verdict_secret(open_by_handle_at(d, &u.h, O_RDONLY));
}
