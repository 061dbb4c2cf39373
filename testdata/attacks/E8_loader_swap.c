// SPDX-License-Identifier: Apache-2.0
// A program's ELF loader (PT_INTERP) is a link that is re-pointed between an allowed and a denied
// file (--deny-exec {work}/evil) while the program is executed. The loader runs first, and
// ends there.
#include "attack.h"
#include <elf.h>

// put_elf makes a program that ends with a status, or names a loader.
static void put_elf(const char *file, int status, const char *loader)
{
	struct {
		Elf64_Ehdr e;
		Elf64_Phdr p[2];
		unsigned char code[16];
		char loader[16];
	} f = {0};
	memcpy(f.e.e_ident, ELFMAG "\2\1\1", 7);
	f.e.e_type = ET_DYN;
	f.e.e_version = 1;
	f.e.e_entry = offsetof(__typeof__(f), code);
	f.e.e_phoff = offsetof(__typeof__(f), p);
	f.e.e_ehsize = sizeof f.e;
	f.e.e_phentsize = sizeof f.p[0];
	f.e.e_phnum = loader ? 2 : 1;
	f.p[0] = (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = sizeof f, .p_memsz = sizeof f, .p_align = 4096};
	f.p[1] = (Elf64_Phdr){.p_type = PT_INTERP, .p_flags = PF_R, .p_offset = offsetof(__typeof__(f), loader), .p_filesz = sizeof f.loader, .p_memsz = sizeof f.loader, .p_align = 1};
#ifdef __x86_64__
	f.e.e_machine = EM_X86_64;
	// mov edi, status; mov eax, 231 (exit_group); syscall
	memcpy(f.code, "\xbf\0\0\0\0\xb8\xe7\0\0\0\x0f\x05", 12);
	f.code[1] = (unsigned char)status;
#else
	f.e.e_machine = EM_AARCH64;
	// mov w0, status; mov x8, 94; svc 0
	uint32_t code[] = {0x52800000u | (uint32_t)status << 5, 0xd2800bc8, 0xd4000001};
	memcpy(f.code, code, sizeof code);
#endif
	strncpy(f.loader, loader ? loader : "", sizeof f.loader - 1);
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0755);
	must(fd, file);
	must(write(fd, &f, sizeof f), file);
	close(fd);
}

static void *swapper(void *arg)
{
	for (;;) {
		(void)!symlink("good", "l1");
		rename("l1", "ld");
		(void)!symlink("evil", "l2");
		rename("l2", "ld");
	}
	return arg;
}

int main(void)
{
	put_elf("good", 7, NULL);
	put_elf("evil", 42, NULL);
	put_elf("program", 1, "./ld");
	must(symlink("good", "ld"), "symlink");
	start(swapper, NULL);
	while (race_more()) {
		pid_t pid = vfork();
		if (!pid) {
			execl("./program", "program", NULL);
			_exit(1);
		}
		int st = 0;
		waitpid(pid, &st, 0);
		race_won(WIFEXITED(st) && WEXITSTATUS(st) == 42);
	}
	race_end();
}
