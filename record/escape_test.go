// SPDX-License-Identifier: Apache-2.0

package record

import (
	"testing"
	"unicode/utf8"
)

func TestEscape(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"/etc/hosts", "/etc/hosts"},
		{"/tmp/größe/日本", "/tmp/größe/日本"},
		{`C:\x41`, `C:\\x41`},
		{"a\nb\tc\x00", `a\x0ab\x09c\x00`},
		{"\x1b]0;owned\x07", `\x1b]0;owned\x07`},
		{"\x7f", `\x7f`},
		{"\u0085", `\xc2\x85`},                     // C1 control NEL
		{"\u009b31m", `\xc2\x9b31m`},               // C1 control CSI
		{"caf\xe9", `caf\xe9`},                     // Latin-1
		{"\xed\xa0\x80", `\xed\xa0\x80`},           // a surrogate is not UTF-8
		{"\xc0\xaf", `\xc0\xaf`},                   // overlong slash
		{"a\u202egnp.exe", `a\xe2\x80\xaegnp.exe`}, // right-to-left override
		{"a\u2066b", `a\xe2\x81\xa6b`},             // isolate
		{"a\u200bb", `a\xe2\x80\x8bb`},             // zero-width space
		{"a\ufeffb", `a\xef\xbb\xbfb`},             // BOM
		{"a\u00a0b", `a\xc2\xa0b`},                 // no-break space
		{"a\u3164b", `a\xe3\x85\xa4b`},             // Hangul filler
		{"a\ufe0fb", `a\xef\xb8\x8fb`},             // variation selector
		{"a\U000e0041b", `a\xf3\xa0\x81\x81b`},     // tag character
		{"\u2028", `\xe2\x80\xa8`},                 // line separator
		{"\ufffd", "\ufffd"},                       // the replacement character itself is a name
	} {
		if got := Escape(c.in); got != c.want {
			t.Errorf("Escape(%q) = %q, want %q", c.in, got, c.want)
		}
		if got := Unescape(c.want); got != c.in {
			t.Errorf("Unescape(%q) = %q, want %q", c.want, got, c.in)
		}
	}
}

func TestUnescapeKeepsWhatIsNoEscape(t *testing.T) {
	for in, want := range map[string]string{
		`\`: `\`, `a\`: `a\`, `\x`: `\x`, `\x4`: `\x4`, `\xg0`: `\xg0`, `\n`: `\n`, `\xAF`: "\xaf",
	} {
		if got := Unescape(in); got != want {
			t.Errorf("Unescape(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzEscape(f *testing.F) {
	f.Add("/etc/hosts")
	f.Add("a\\x41\xff\u202e\x1b[31m")
	f.Fuzz(func(t *testing.T, s string) {
		e := Escape(s)
		if back := Unescape(e); back != s {
			t.Fatalf("%q -> %q -> %q", s, e, back)
		}
		if !utf8.ValidString(e) || EscapeText(e) != e {
			t.Fatalf("%q -> %q is not safe to print", s, e)
		}
		if txt := EscapeText(s); EscapeText(txt) != txt {
			t.Fatalf("EscapeText(%q) is not idempotent", s)
		}
	})
}
