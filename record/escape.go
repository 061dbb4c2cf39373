// SPDX-License-Identifier: Apache-2.0

package record

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// Escape gives the form of a name in the trace: bytes that are not UTF-8 or not visible
// (controls, bidirectional overrides, zero-width and other ignorable characters) become
// \xNN, byte by byte, and a backslash becomes \\. Visible UTF-8 is kept. The result is
// valid UTF-8 and safe on a terminal. Unescape is its inverse.
func Escape(s string) string {
	if isPlain(s, true) {
		return s
	}
	return string(appendEscaped(make([]byte, 0, len(s)+16), s, true))
}

// EscapeText is Escape for sentences and for names that are escaped already: backslashes
// stay as they are, so applying it twice changes nothing more. It has no inverse.
func EscapeText(s string) string {
	if isPlain(s, false) {
		return s
	}
	return string(appendEscaped(make([]byte, 0, len(s)+16), s, false))
}

// Unescape is the inverse of Escape. A backslash that begins neither \\ nor \xNN is kept.
func Unescape(s string) string {
	first := strings.IndexByte(s, '\\')
	if first < 0 {
		return s
	}
	out := append(make([]byte, 0, len(s)), s[:first]...)
	for i := first; i < len(s); {
		if s[i] == '\\' && i+1 < len(s) {
			if s[i+1] == '\\' {
				out = append(out, '\\')
				i += 2
				continue
			}
			if s[i+1] == 'x' && i+3 < len(s) {
				hi, lo := hexValue(s[i+2]), hexValue(s[i+3])
				if hi >= 0 && lo >= 0 {
					out = append(out, byte(hi<<4|lo))
					i += 4
					continue
				}
			}
		}
		out = append(out, s[i])
		i++
	}
	return string(out)
}

func hexValue(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// visible tells whether a decoded rune shows itself on a terminal. unicode.IsPrint leaves
// out controls, formats (bidi, zero-width joiners) and all spaces but U+0020; the two
// tables add the ignorables that Unicode files under letters and marks (Hangul fillers,
// variation selectors).
func visible(r rune, size int) bool {
	if r == utf8.RuneError && size == 1 {
		return false
	}
	return unicode.IsPrint(r) && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// isPlain tells whether escaping would change nothing.
func isPlain(s string, backslash bool) bool {
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c < 0x20 || c == 0x7f || (backslash && c == '\\') {
				return false
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if !visible(r, size) {
			return false
		}
		i += size
	}
	return true
}

func appendEscaped(dst []byte, s string, backslash bool) []byte {
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			switch {
			case c < 0x20 || c == 0x7f:
				dst = append(dst, '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
			case c == '\\' && backslash:
				dst = append(dst, '\\', '\\')
			default:
				dst = append(dst, c)
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if visible(r, size) {
			dst = append(dst, s[i:i+size]...)
		} else {
			for _, b := range []byte(s[i : i+size]) {
				dst = append(dst, '\\', 'x', hexDigits[b>>4], hexDigits[b&15])
			}
		}
		i += size
	}
	return dst
}
