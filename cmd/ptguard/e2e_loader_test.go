// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"os"
	"testing"

	"ptguard/internal/ktest"
)

// TestLoaderOfOddELF: a program that names a denied one as its loader. The kernel looks neither
// at the class of the file nor at its sections, so what is odd there must not hide the loader.
func TestLoaderOfOddELF(t *testing.T) {
	loaded := ktest.Tracee(t, "loaded", "-nostdlib", "-static", "-fno-stack-protector")
	for name, odd := range map[string]func(elf []byte){
		"plain":        func([]byte) {},
		"class":        func(elf []byte) { elf[4] = 1 },                                               // EI_CLASS: ELFCLASS32
		"byte order":   func(elf []byte) { elf[5] = 2 },                                               // EI_DATA: ELFDATA2MSB
		"section name": func(elf []byte) { elf[62], elf[63] = 0x77, 0x77 },                            // e_shstrndx
		"sections":     func(elf []byte) { elf[40], elf[45], elf[60], elf[61] = 0x77, 0x77, 0x77, 0 }, // e_shoff, e_shnum
	} {
		t.Run(name, func(t *testing.T) {
			fill := func(t testing.TB, b *ktest.Box) {
				b.Copy(t, loaded, "work/denied")
				out := b.Path("work/program")
				if r := b.Bare(t, "gcc", "-o", out, ktest.ModuleRoot()+"/testdata/tracees/mark.c", "-Wl,--dynamic-linker="+b.Path("work/denied")); r.Status != 0 {
					t.Fatal(r)
				}
				elf := []byte(b.Text(t, "work/program"))
				odd(elf)
				if err := os.WriteFile(out, elf, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			b := ktest.NewBox(t, fill)
			if r := b.Bare(t, "./program"); r.Stdout != "loaded\n" {
				t.Fatalf("without ptguard: %v", r)
			}
			r := b.Guard(t, []string{"--deny-exec", b.Path("work/denied")}, "sh", "-c", "./program; echo $?")
			if r.Stdout != "126\n" {
				t.Errorf("its loader is denied: %v", r)
			}
			b.Find(t, ktest.Want{Syscall: "execve", Errno: "EPERM"})
		})
	}
}
