// SPDX-License-Identifier: Apache-2.0
//
// messages: many pieces and many descriptors in one message; many messages in one call, of which
// fewer may be sent; sendto with and without an address on a connected socket.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PIECES = 1024, RIGHTS = 253, MANY = 40 };

int main(void)
{
	int p[2], n = 0;
	static char text[PIECES], in[PIECES], room[CMSG_SPACE(RIGHTS * sizeof(int))];
	struct iovec pieces[PIECES];
	socketpair(AF_UNIX, SOCK_STREAM, 0, p);
	for (int i = 0; i < PIECES; i++) {
		text[i] = 'a' + i % 26;
		pieces[i] = (struct iovec){text + i, 1};
	}
	struct msghdr m = {.msg_iov = pieces, .msg_iovlen = PIECES, .msg_control = room, .msg_controllen = sizeof room};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	*c = (struct cmsghdr){.cmsg_len = CMSG_LEN(RIGHTS * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
	for (int i = 0; i < RIGHTS; i++)
		((int *)CMSG_DATA(c))[i] = i % 3;
	printf("sendmsg %zd\n", sendmsg(p[0], &m, 0));
	struct iovec one = {in, sizeof in};
	m.msg_iov = &one;
	m.msg_iovlen = 1;
	m.msg_controllen = sizeof room;
	ssize_t got = recvmsg(p[1], &m, 0);
	c = CMSG_FIRSTHDR(&m);
	printf("recvmsg %zd %s, %zu descriptors\n", got, memcmp(in, text, PIECES) ? "other" : "same", (c->cmsg_len - CMSG_LEN(0)) / sizeof(int));

	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof a;
	int to = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0), from = socket(AF_INET, SOCK_DGRAM, 0);
	bind(to, (void *)&a, sizeof a);
	getsockname(to, (void *)&a, &size);
	struct mmsghdr many[MANY];
	struct iovec v[MANY];
	for (int i = 0; i < MANY; i++) {
		v[i] = (struct iovec){text, i + 1};
		many[i] = (struct mmsghdr){.msg_hdr = {.msg_name = &a, .msg_namelen = sizeof a, .msg_iov = &v[i], .msg_iovlen = 1}};
	}
	for (int sent = 0; sent < MANY;) { // as sendmmsg(2) shows it: the count may be short
		int r = sendmmsg(from, many + sent, MANY - sent, 0);
		if (r <= 0) {
			printf("sendmmsg %s\n", strerror(errno));
			break;
		}
		for (int i = 0; i < r; i++)
			if (many[sent + i].msg_len != sent + i + 1u)
				printf("message %d: length %u\n", sent + i, many[sent + i].msg_len);
		sent += r;
	}
	while ((got = recv(to, in, sizeof in, 0)) == n + 1)
		n++;
	printf("%d messages in order\n", n);

	// As many options as take 17 KiB: each is read, and the last one holds (ip(7)).
	enum { OPTIONS = 720 };
	static char options[OPTIONS * CMSG_SPACE(sizeof(int))];
	struct msghdr large = {.msg_name = &a, .msg_namelen = sizeof a, .msg_iov = v, .msg_iovlen = 1, .msg_control = options, .msg_controllen = sizeof options};
	for (c = CMSG_FIRSTHDR(&large); c; c = (char *)c + CMSG_SPACE(sizeof(int)) < options + sizeof options ? (void *)((char *)c + CMSG_SPACE(sizeof(int))) : NULL) {
		*c = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = IPPROTO_IP, .cmsg_type = IP_TTL};
		*(int *)CMSG_DATA(c) = 64;
	}
	for (int ttl = 65; ttl <= 66; ttl++) { // twice: the room is free again
		struct cmsghdr *last = (void *)(options + sizeof options - CMSG_SPACE(sizeof(int)));
		char seen[CMSG_SPACE(sizeof(int))];
		int on = 1;
		*(int *)CMSG_DATA(last) = ttl;
		setsockopt(to, IPPROTO_IP, IP_RECVTTL, &on, sizeof on);
		printf("%zu bytes of control data %zd", sizeof options, sendmsg(from, &large, 0));
		struct msghdr back = {.msg_iov = &one, .msg_iovlen = 1, .msg_control = seen, .msg_controllen = sizeof seen};
		ssize_t size = recvmsg(to, &back, 0);
		printf(" %zd ttl %d\n", size, *(int *)CMSG_DATA((struct cmsghdr *)seen));
	}
	((struct cmsghdr *)options)->cmsg_type = 99;
	printf("no option %zd ", sendmsg(from, &large, 0));
	printf("%s\n", strerror(errno));

	connect(from, (void *)&a, sizeof a);
	printf("sendto %zd ", sendto(from, "x", 1, 0, NULL, 0));
	printf("%zd ", sendto(from, "xy", 2, 0, (void *)&a, sizeof a));
	printf("%zd\n", recv(to, in, sizeof in, 0) + recv(to, in, sizeof in, 0));
	int s = socket(AF_UNIX, SOCK_STREAM, 0);
	printf("unconnected %zd %s\n", sendto(s, "x", 1, MSG_NOSIGNAL, NULL, 0), strerror(errno));
	printf("connected stream with an address %zd %s\n", sendto(p[0], "x", 1, MSG_NOSIGNAL, (void *)&a, sizeof a), strerror(errno));
	return 0;
}
