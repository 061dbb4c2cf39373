// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// program is a file with a PT_INTERP, as a linker would not make it.
func program(t *testing.T, change func(h *elf.Header64, p *elf.Prog64), loader string) []byte {
	t.Helper()
	h := elf.Header64{Type: uint16(elf.ET_DYN), Machine: uint16(elf.EM_X86_64), Version: 1, Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1
	p := elf.Prog64{Type: uint32(elf.PT_INTERP), Off: 120, Filesz: uint64(len(loader)) + 1}
	if change != nil {
		change(&h, &p)
	}
	var b bytes.Buffer
	for _, part := range []any{h, p} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	b.WriteString(loader + "\x00")
	return b.Bytes()
}

func next(t *testing.T, text []byte) Follower {
	t.Helper()
	name := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(name, text, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	follower, err := Next(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	return follower
}

func TestNext(t *testing.T) {
	const ld = "/lib64/ld-linux-x86-64.so.2"
	far := program(t, func(h *elf.Header64, _ *elf.Prog64) { h.Phoff = 9000 }, ld)
	far = append(append(make([]byte, 0, 9056), far[:64]...), make([]byte, 9000-64)...)
	far = append(far, program(t, func(_ *elf.Header64, p *elf.Prog64) { p.Off = 9056 }, ld)[64:]...)
	two := program(t, func(h *elf.Header64, p *elf.Prog64) { h.Phnum, p.Off = 2, 176 }, "")[:120]
	other := program(t, func(_ *elf.Header64, p *elf.Prog64) { p.Off, p.Filesz = 176+28, 8 }, "")[64:120]
	two = append(append(two, other...), ld+"\x00/other\x00"...)
	binary.LittleEndian.PutUint64(two[64+32:], 28) // p_filesz
	small := func(machine elf.Machine) []byte {
		const ld = "/lib/ld-linux.so.2\x00"
		h := elf.Header32{Type: uint16(elf.ET_DYN), Machine: uint16(machine), Version: 1, Phoff: 52, Ehsize: 52, Phentsize: 32, Phnum: 1}
		copy(h.Ident[:], elf.ELFMAG)
		var b bytes.Buffer
		for _, part := range []any{h, elf.Prog32{Type: uint32(elf.PT_INTERP), Off: 84, Filesz: uint32(len(ld))}, []byte(ld)} {
			if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
				t.Fatal(err)
			}
		}
		return b.Bytes()
	}
	for name, x := range map[string]struct {
		text []byte
		want Follower
	}{
		"script":               {[]byte("#! /bin/sh -e\necho"), Follower{Path: "/bin/sh"}},
		"text":                 {[]byte("echo\n"), Follower{}},
		"nothing":              {nil, Follower{}},
		"program":              {program(t, nil, ld), Follower{ld, true}},
		"headers at the end":   {far, Follower{ld, true}},
		"sections beyond":      {program(t, func(h *elf.Header64, _ *elf.Prog64) { h.Shoff, h.Shnum, h.Shentsize = 1<<40, 9, 64 }, ld), Follower{ld, true}},
		"sections in no order": {program(t, func(h *elf.Header64, _ *elf.Prog64) { h.Shoff, h.Shnum, h.Shstrndx = 64, 1, 9 }, ld), Follower{ld, true}},
		"another class":        {program(t, func(h *elf.Header64, _ *elf.Prog64) { h.Ident[elf.EI_CLASS] = byte(elf.ELFCLASS32) }, ld), Follower{ld, true}},
		"another byte order":   {program(t, func(h *elf.Header64, _ *elf.Prog64) { h.Ident[elf.EI_DATA] = byte(elf.ELFDATA2MSB) }, ld), Follower{ld, true}},
		"another version":      {program(t, func(h *elf.Header64, _ *elf.Prog64) { h.Ident[elf.EI_VERSION], h.Version = 7, 9 }, ld), Follower{ld, true}},
		"no such size":         {program(t, func(h *elf.Header64, _ *elf.Prog64) { h.Phentsize = 57 }, ld), Follower{}},
		"name beyond":          {program(t, func(_ *elf.Header64, p *elf.Prog64) { p.Off = 1 << 40 }, ld), Follower{}},
		"no end":               {program(t, func(_ *elf.Header64, p *elf.Prog64) { p.Filesz-- }, ld), Follower{}},
		"bytes after the name": {program(t, nil, ld+"\x00abc"), Follower{ld, true}},
		"the first of two":     {two, Follower{ld, true}},
		"32 bits":              {small(elf.EM_386), Follower{"/lib/ld-linux.so.2", true}},
		"x32":                  {small(elf.EM_X86_64), Follower{"/lib/ld-linux.so.2", true}},
		"32 bits of arm64":     {small(elf.EM_AARCH64), Follower{}},
		"short":                {[]byte(elf.ELFMAG), Follower{}},
	} {
		if got := next(t, x.text); got != x.want {
			t.Errorf("%s: %+v, want %+v", name, got, x.want)
		}
	}
}
