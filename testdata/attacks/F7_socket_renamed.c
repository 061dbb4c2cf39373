// SPDX-License-Identifier: Apache-2.0
//
// F7, C17, C18: a unix socket that a rule about addresses denies (denieD/sock, by policy.yaml)
// gets another name: by a link, a rename, an exchange, or a rename of its folder.
#include "cfgh.h"

static int reached(const char *path)
{
	struct sockaddr_un a = unix_name(path);
	int s = socket(AF_UNIX, SOCK_STREAM, 0), r = connect(s, (struct sockaddr *)&a, sizeof a);
	close(s);
	return r == 0;
}

int main(void)
{
	const char *sock = "denieD/sock";
	int won = 0;
	won += link(sock, "l") == 0 && reached("l");
	if (rename(sock, "r") == 0) {
		won += reached("r");
		rename("r", sock);
	}
	put("x", "", 0644);
	exchange("x", sock);
	won += reached("x");
	exchange("x", sock);
	if (rename("denieD", "folder") == 0)
		won += reached("folder/sock");
	if (won)
		succeeded();
	refused();
}
