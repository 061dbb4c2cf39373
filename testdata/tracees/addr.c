// SPDX-License-Identifier: Apache-2.0
// addr ACT ARG... does one thing with socket addresses and prints "ok", or the errno's
// name, on a line; `lengths` and the like print a line for each of many.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static const char *name(long r)
{
	if (r >= 0)
		return "ok";
	return strerrorname_np(errno) ? strerrorname_np(errno) : "unknown";
}

static int say(long r)
{
	puts(name(r));
	return 0;
}

// address reads HOST[%IF] and PORT; a host with a colon is IPv6.
static socklen_t address(struct sockaddr_storage *ss, const char *host, const char *port)
{
	char text[128], *zone;
	memset(ss, 0, sizeof *ss);
	if (strchr(host, ':')) {
		struct sockaddr_in6 *s = (void *)ss;
		snprintf(text, sizeof text, "%s", host);
		if ((zone = strchr(text, '%'))) {
			*zone = 0;
			s->sin6_scope_id = if_nametoindex(zone + 1);
		}
		s->sin6_family = AF_INET6;
		s->sin6_port = htons(atoi(port));
		if (inet_pton(AF_INET6, text, &s->sin6_addr) != 1)
			exit(3);
		return sizeof *s;
	}
	struct sockaddr_in *s = (void *)ss;
	s->sin_family = AF_INET;
	s->sin_port = htons(atoi(port));
	if (inet_pton(AF_INET, host, &s->sin_addr) != 1)
		exit(3);
	return sizeof *s;
}

static struct iovec word = {"x", 1};
static struct msghdr message(void *to, socklen_t n)
{
	struct msghdr m = {.msg_name = to, .msg_namelen = n, .msg_iov = &word, .msg_iovlen = 1};
	return m;
}

static socklen_t unixAddress(struct sockaddr_un *u, const char *path)
{
	memset(u, 0, sizeof *u);
	u->sun_family = AF_UNIX;
	memcpy(u->sun_path, path, strlen(path));
	if (path[0] == '@')
		u->sun_path[0] = 0;
	return offsetof(struct sockaddr_un, sun_path) + strlen(path) + (path[0] != '@');
}

// every length of an address, for every call that takes one
static void lengths(void)
{
	static const int64_t lengths[] = {INT32_MIN, -1, 0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 23, 24, 27, 28, 29, 109, 110, 111, 127, 128, 129, 4096, INT32_MAX, 0xdeadbeef00000010, 0xdeadbeef0000001c};
	static const char *const calls[] = {"bind", "connect", "sendto", "sendmsg", "sendmmsg"};
	static const struct {
		int family, type, named;
		const char *text;
	} kinds[] = {
		{AF_INET, SOCK_STREAM, AF_INET, "tcp"}, {AF_INET, SOCK_DGRAM, AF_INET, "udp"}, {AF_INET6, SOCK_STREAM, AF_INET6, "tcp6"}, {AF_INET6, SOCK_DGRAM, AF_INET6, "udp6"},
		{AF_UNIX, SOCK_STREAM, AF_UNIX, "unix"}, {AF_UNIX, SOCK_DGRAM, AF_UNIX, "unix-dgram"}, {AF_INET, SOCK_STREAM, AF_UNSPEC, "tcp-unspec"},
		{AF_INET, SOCK_DGRAM, AF_UNSPEC, "udp-unspec"}, {AF_INET6, SOCK_DGRAM, AF_UNSPEC, "udp6-unspec"}, {AF_INET6, SOCK_DGRAM, AF_INET, "udp6-inet"},
		{AF_INET, SOCK_DGRAM, AF_INET6, "udp-inet6"}, {AF_INET, SOCK_STREAM, AF_UNIX, "tcp-unix"}, {AF_UNIX, SOCK_STREAM, AF_INET, "unix-inet"},
		{AF_UNIX, SOCK_DGRAM, AF_UNSPEC, "unix-unspec"}, {AF_INET, SOCK_STREAM, 99, "tcp-99"},
	};
	char *page = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(page + 4096, 4096, PROT_NONE);
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
		for (size_t c = 0; c < sizeof calls / sizeof *calls; c++)
			// where: 0 in the middle of a page, 1 at the end of one, 2 NULL, 3 unmapped
			for (int where = 0; where < 4; where++)
				for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
					struct sockaddr_storage ss = {0};
					struct sockaddr_in *in = (void *)&ss;
					struct sockaddr_in6 *in6 = (void *)&ss;
					uint64_t n = lengths[i];
					char *at = page;
					int s = socket(kinds[k].family, kinds[k].type | SOCK_NONBLOCK, 0);
					long r = -1;
					if (kinds[k].named == AF_INET6) {
						in6->sin6_addr = in6addr_loopback;
						in6->sin6_port = htons(c ? 9 : 0);
					} else if (kinds[k].named == AF_UNIX) {
						memset(&ss, 'u', sizeof ss);
					} else {
						in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
						in->sin_port = htons(c ? 9 : 0);
						if (kinds[k].named == AF_UNSPEC && c == 0)
							in->sin_addr.s_addr = 0;
					}
					ss.ss_family = kinds[k].named;
					memset(page, 0, 4096);
					memcpy(page, &ss, sizeof ss);
					if (where == 1) { // as many bytes as the length says, or what there is room for
						int room = (int32_t)n > 0 && (int32_t)n <= 128 ? (int32_t)n : 16;
						at = page + 4096 - room;
						memmove(at, &ss, room);
					} else if (where == 2) {
						at = 0;
					} else if (where == 3) {
						at = page + 4096;
					}
					struct mmsghdr mm[2] = {0};
					mm[0].msg_hdr = message(at, (uint32_t)n);
					errno = 0;
					switch (c) {
					case 0: r = syscall(SYS_bind, s, at, n); break;
					case 1: r = syscall(SYS_connect, s, at, n); break;
					case 2: r = syscall(SYS_sendto, s, "x", 1ul, MSG_NOSIGNAL, at, n); break;
					case 3: r = syscall(SYS_sendmsg, s, &mm[0].msg_hdr, MSG_NOSIGNAL); break;
					case 4: r = syscall(SYS_sendmmsg, s, mm, 1, MSG_NOSIGNAL); break;
					}
					printf("%s %s %d %lld %s\n", kinds[k].text, calls[c], where, (long long)lengths[i], name(r));
					close(s);
					for (int u = 0; u < 128; u++) { // what bind made
						char made[129];
						memset(made, 'u', 128);
						made[u] = 0;
						if (kinds[k].named == AF_UNIX && c == 0 && r == 0 && u)
							unlink(made);
					}
				}
}

// headers that cannot be read, and vectors
static void headers(void)
{
	static const struct {
		const char *what;
		unsigned long at;
	} bad[] = {{"null", 0}, {"one", 1}, {"kernel", 0xffff888000000000}, {"not-canonical", 0x8000000000000000}};
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct mmsghdr mm[3];
	int s = socket(AF_INET, SOCK_DGRAM, 0), i;
	for (i = 0; i < 4; i++) {
		printf("sendmsg %s %s\n", bad[i].what, name(syscall(SYS_sendmsg, s, bad[i].at, 0)));
		printf("sendmmsg %s %s\n", bad[i].what, name(syscall(SYS_sendmmsg, s, bad[i].at, 1, 0)));
		printf("sendmmsg none %s %s\n", bad[i].what, name(syscall(SYS_sendmmsg, s, bad[i].at, 0, 0)));
		for (int k = 0; k < 3; k++)
			mm[k] = (struct mmsghdr){.msg_hdr = message(&to, sizeof to)};
		mm[1].msg_hdr.msg_name = (void *)bad[i].at;
		long r = syscall(SYS_sendmmsg, s, mm, 3, 0); // stops at the bad one and tells how many
		printf("sendmmsg second %s %ld %s\n", bad[i].what, r, name(r));
		getsockopt(s, SOL_SOCKET, SO_ERROR, &r, &(socklen_t){4});
	}
	printf("sendmsg badfd %s\n", name(syscall(SYS_sendmsg, 99, &mm[0], 0)));
	printf("sendto badfd %s\n", name(sendto(99, "x", 1, 0, (void *)&to, sizeof to)));
	printf("connect badfd %s\n", name(connect(99, (void *)&to, sizeof to)));
	printf("connect file %s\n", name(connect(0, (void *)&to, sizeof to)));
	printf("bind badfd %s\n", name(bind(99, (void *)&to, sizeof to)));
	printf("listen badfd %s\n", name(listen(99, 1)));
	printf("listen file %s\n", name(listen(0, 1)));
	printf("listen udp %s\n", name(listen(s, 1)));
}

int main(int argc, char **argv)
{
	const char *act = argc > 1 ? argv[1] : "";
	char **a = argv + 2;
	struct sockaddr_storage ss, second;
	struct sockaddr_un un;
	socklen_t n, n2;
	int s, i;
	setvbuf(stdout, 0, _IOLBF, 0);
#define IS(x) if (!strcmp(act, x))
	IS("lengths") { lengths(); return 0; }
	IS("headers") { headers(); return 0; }
	IS("connect-unix-at") { // DIR NAME: through /proc/self/fd/N/NAME
		char path[100];
		snprintf(path, sizeof path, "/proc/self/fd/%d/%s", open(a[0], O_PATH | O_DIRECTORY), a[1]);
		n = unixAddress(&un, path);
		return say(connect(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&un, n));
	}
	IS("socket") return say(syscall(SYS_socket, strtoul(a[0], 0, 0), strtoul(a[1], 0, 0), strtoul(a[2], 0, 0)));
	if (argc > 3) { // HOST PORT
		n = address(&ss, a[0], a[1]);
		IS("connect") return say(connect(socket(ss.ss_family, SOCK_STREAM, 0), (void *)&ss, n));
		IS("mptcp") return say(connect(socket(ss.ss_family, SOCK_STREAM, 262), (void *)&ss, n));
		IS("udp") { // through connect, so that a route is all it needs
			s = socket(ss.ss_family, SOCK_DGRAM, 0);
			return connect(s, (void *)&ss, n) ? say(-1) : say(send(s, "x", 1, 0));
		}
		IS("sendto") return say(sendto(socket(ss.ss_family, SOCK_DGRAM, 0), "x", 1, 0, (void *)&ss, n));
		IS("bind") return say(bind(socket(ss.ss_family, SOCK_STREAM, 0), (void *)&ss, n));
		IS("bind-unspec") { // taken as AF_INET where the address is 0.0.0.0
			ss.ss_family = AF_UNSPEC;
			return say(bind(socket(AF_INET, SOCK_STREAM, 0), (void *)&ss, n));
		}
		IS("sendto-unspec") { // UDP takes it as AF_INET
			ss.ss_family = AF_UNSPEC;
			return say(sendto(socket(AF_INET, SOCK_DGRAM, 0), "x", 1, 0, (void *)&ss, n));
		}
		IS("sendto6-inet") return say(sendto(socket(AF_INET6, SOCK_DGRAM, 0), "x", 1, 0, (void *)&ss, n));
		IS("connect6-inet") return say(connect(socket(AF_INET6, SOCK_DGRAM, 0), (void *)&ss, n));
		IS("fastopen-sendto") return say(sendto(socket(ss.ss_family, SOCK_STREAM, 0), "x", 1, MSG_FASTOPEN, (void *)&ss, n));
		IS("fastopen-sendmsg") {
			struct msghdr m = message(&ss, n);
			return say(sendmsg(socket(ss.ss_family, SOCK_STREAM, 0), &m, MSG_FASTOPEN));
		}
		IS("fastopen-sendmmsg") {
			struct mmsghdr m = {.msg_hdr = message(&ss, n)};
			return say(sendmmsg(socket(ss.ss_family, SOCK_STREAM, 0), &m, 1, MSG_FASTOPEN));
		}
		IS("fastopen-connect") {
			s = socket(ss.ss_family, SOCK_STREAM, 0);
			i = 1;
			setsockopt(s, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &i, sizeof i);
			return connect(s, (void *)&ss, n) ? say(-1) : say(send(s, "x", 1, 0));
		}
		IS("reconnect") { // HOST PORT HOST PORT: the first may be reached; AF_UNSPEC; then the second
			struct sockaddr none = {.sa_family = AF_UNSPEC};
			n2 = address(&second, a[2], a[3]);
			s = socket(ss.ss_family, SOCK_DGRAM, 0);
			if (connect(s, (void *)&ss, n) || connect(s, &none, sizeof none))
				return say(-1);
			puts("dissolved");
			return connect(s, (void *)&second, n2) ? say(-1) : say(send(s, "x", 1, 0));
		}
		IS("second") { // sendmmsg to the first and the second
			n2 = address(&second, a[2], a[3]);
			struct mmsghdr m[2] = {{.msg_hdr = message(&ss, n)}, {.msg_hdr = message(&second, n2)}};
			return say(sendmmsg(socket(ss.ss_family, SOCK_DGRAM, 0), m, 2, 0) == 2 ? 0 : -1);
		}
		IS("bound-connect") { // HOST PORT FROM: from a socket that is bound to FROM
			n2 = address(&second, a[2], "0");
			s = socket(second.ss_family, SOCK_STREAM, 0);
			if (bind(s, (void *)&second, n2))
				return puts("bind"), say(-1);
			return say(connect(s, (void *)&ss, n));
		}
	}
	IS("listen") { // an unbound socket, of family 4 or 6
		s = socket(atoi(a[0]) == 6 ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
		return say(listen(s, 1));
	}
	IS("listen-bound") {
		n = address(&ss, a[0], "0");
		s = socket(ss.ss_family, SOCK_STREAM, 0);
		return bind(s, (void *)&ss, n) ? say(-1) : say(listen(s, 1));
	}
	IS("connect-unix") { n = unixAddress(&un, a[0]); return say(connect(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&un, n)); }
	IS("connect-unix-dgram") { n = unixAddress(&un, a[0]); return say(connect(socket(AF_UNIX, SOCK_DGRAM, 0), (void *)&un, n)); }
	IS("sendto-unix") { n = unixAddress(&un, a[0]); return say(sendto(socket(AF_UNIX, SOCK_DGRAM, 0), "x", 1, 0, (void *)&un, n)); }
	IS("sendmsg-unix") {
		n = unixAddress(&un, a[0]);
		struct msghdr m = message(&un, n);
		return say(sendmsg(socket(AF_UNIX, SOCK_DGRAM, 0), &m, 0));
	}
	IS("own") { // NAME: bind and connect to it; with a path or an abstract name
		n = unixAddress(&un, a[0]);
		s = socket(AF_UNIX, SOCK_STREAM, 0);
		if (bind(s, (void *)&un, n) || listen(s, 1))
			return say(-1);
		return say(connect(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&un, n));
	}
	IS("autobind") {
		sa_family_t family = AF_UNIX;
		s = socket(AF_UNIX, SOCK_STREAM, 0);
		if (bind(s, (void *)&family, sizeof family) || listen(s, 1))
			return say(-1);
		n = sizeof un;
		getsockname(s, (void *)&un, &n);
		return say(connect(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&un, n));
	}
	IS("disguise") { // NAME: own a path socket called @NAME, then connect to abstract NAME
		struct sockaddr_un file;
		char path[100];
		snprintf(path, sizeof path, "@%s", a[0]);
		memset(&file, 0, sizeof file);
		file.sun_family = AF_UNIX;
		strcpy(file.sun_path, path);
		s = socket(AF_UNIX, SOCK_STREAM, 0);
		if (bind(s, (void *)&file, offsetof(struct sockaddr_un, sun_path) + strlen(path) + 1) || listen(s, 1))
			return puts("bind"), say(-1);
		n = unixAddress(&un, path);
		return say(connect(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&un, n));
	}
	IS("disguise-dgram") { // the same with another type of socket, by abstract name
		n = unixAddress(&un, a[0]);
		s = socket(AF_UNIX, SOCK_DGRAM, 0);
		if (bind(s, (void *)&un, n))
			return puts("bind"), say(-1);
		return say(connect(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&un, n));
	}
	IS("families") {
		for (i = 0; i <= 45; i++) {
			static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET};
			for (int k = 0; k < 4; k++) {
				errno = 0;
				s = socket(i, types[k] | SOCK_CLOEXEC, 0);
				printf("%d %d %s\n", i, types[k], name(s));
				if (s >= 0)
					close(s);
			}
		}
		return 0;
	}
	IS("netlink") { // PROTOCOL
		return say(socket(AF_NETLINK, SOCK_RAW, atoi(a[0])));
	}
	IS("socketpair") {
		int sv[2];
		return say(socketpair(atoi(a[0]), atoi(a[1]), 0, sv));
	}
	fprintf(stderr, "addr: unknown act %s\n", act);
	return 2;
}
