// SPDX-License-Identifier: Apache-2.0
// A program for the 32-bit ABI, made here byte by byte, opens the file.
#include "attack.h"

static const unsigned char code[] = {
	0xb8, 5, 0, 0, 0,		  // mov eax, 5 (open)
	0xbb, 0, 0, 0, 0,		  // mov ebx, name
	0x31, 0xc9, 0x31, 0xd2,	// xor ecx, ecx; xor edx, edx
	0xcd, 0x80,				// int 0x80
	0x31, 0xdb,				// xor ebx, ebx
	0x85, 0xc0,				// test eax, eax
	0x78, 5,				   // js +5
	0xbb, 42, 0, 0, 0,		 // mov ebx, 42
	0xb8, 1, 0, 0, 0,		  // mov eax, 1 (exit)
	0xcd, 0x80,
};

int main(void)
{
	enum { base = 0x08048000, start_at = 52 + 32 };
	unsigned char file[512] = "\177ELF\1\1\1";
	uint16_t *half = (uint16_t *)file;
	uint32_t *word = (uint32_t *)file;
	half[8] = 2, half[9] = 3, word[5] = 1; // ET_EXEC, EM_386
	word[6] = base + start_at, word[7] = 52;
	half[20] = 52, half[21] = 32, half[22] = 1;
	uint32_t *load = (uint32_t *)(file + 52);
	load[0] = 1, load[2] = load[3] = base, load[4] = load[5] = sizeof file, load[6] = 5, load[7] = 4096;
	memcpy(file + start_at, code, sizeof code);
	uint32_t name = base + start_at + sizeof code;
	memcpy(file + start_at + 6, &name, 4);
	strcpy((char *)file + start_at + sizeof code, "secret");
	int fd = open("elf32", O_WRONLY | O_CREAT | O_TRUNC, 0755);
	must(fd, "open");
	must(write(fd, file, sizeof file), "write");
	close(fd);
	pid_t pid = fork();
	if (!pid) {
		execl("./elf32", "elf32", NULL);
		_exit(1);
	}
	verdict_child(pid);
}
