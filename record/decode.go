// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"time"
	"unicode/utf8"
)

// decoder reads lines in the form that AppendLine writes. It exists because a trace may
// hold millions of lines and encoding/json takes ten times as long. It knows less: at
// anything unusual it gives up, and the Reader asks encoding/json. FuzzDecode holds it to
// the same answers.
type decoder struct {
	in    []byte
	pos   int
	words map[string]string // strings that come again and again
	text  []byte            // of a string with escapes
}

// Limits of decoder.words.
const (
	maxWords      = 4096
	maxWordLength = 256
)

// decode fills r, which must be zero, and tells whether it understood all of line.
func (d *decoder) decode(line []byte, r *Record) bool {
	// What encoding/json would repair or refuse is left to it.
	if !utf8.Valid(line) {
		return false
	}
	d.in, d.pos = line, 0
	if !d.take('{') {
		return false
	}
	for first := true; ; first = false {
		if first && d.take('}') {
			break
		}
		key, ok := d.quoted()
		if !ok || !d.take(':') || !d.field(key, r) {
			return false
		}
		if d.take('}') {
			break
		}
		if !d.take(',') {
			return false
		}
	}
	return d.pos == len(d.in)
}

func (d *decoder) field(key []byte, r *Record) bool {
	switch string(key) { // no allocation
	case "v":
		return d.integer(&r.V)
	case "run":
		return d.word(&r.Run)
	case "seq":
		return d.unsigned(&r.Seq)
	case "time":
		return d.time(&r.Time)
	case "kind":
		return d.word((*string)(&r.Kind))
	case "event":
		return d.word(&r.Event)
	case "syscall":
		return d.word(&r.Syscall)
	case "pid":
		return d.integer(&r.PID)
	case "tid":
		return d.integer(&r.TID)
	case "ppid":
		return d.integer(&r.PPID)
	case "exe":
		return d.word(&r.Exe)
	case "comm":
		return d.word(&r.Comm)
	case "argv":
		return d.list(&r.Argv)
	case "scope":
		return d.word(&r.Scope)
	case "path":
		return d.word(&r.Path)
	case "resolved":
		return d.word(&r.Resolved)
	case "access":
		return d.list(&r.Access)
	case "flags":
		return d.list(&r.Flags)
	case "need":
		return d.list(&r.Need)
	case "act":
		return d.word(&r.Act)
	case "type":
		return d.word(&r.Type)
	case "device":
		return d.word(&r.Device)
	case "held":
		return d.list(&r.Held)
	case "names":
		return d.list(&r.Names)
	case "facts":
		return d.list(&r.Facts)
	case "addr":
		return d.word(&r.Addr)
	case "port":
		return d.integer(&r.Port)
	case "family":
		return d.word(&r.Family)
	case "proto":
		return d.word(&r.Proto)
	case "verdict":
		return d.word(&r.Verdict)
	case "errno":
		return d.word(&r.Errno)
	case "rule":
		return d.word(&r.Rule)
	case "layer":
		return d.word(&r.Layer)
	case "reason":
		return d.word(&r.Reason)
	case "hint":
		return d.word(&r.Hint)
	case "fix":
		return d.word(&r.Fix)
	case "agent":
		return d.word(&r.Agent)
	case "audit":
		return d.truth(&r.Audit)
	case "count":
		return d.unsigned(&r.Count)
	case "took_us":
		var n int
		ok := d.integer(&n)
		r.TookUS = int64(n)
		return ok
	case "stops":
		return d.integer(&r.Stops)
	}
	return false // start, end, and fields of later versions
}

func (d *decoder) take(c byte) bool {
	if d.pos < len(d.in) && d.in[d.pos] == c {
		d.pos++
		return true
	}
	return false
}

// quoted reads a string; the result is valid until the next call.
func (d *decoder) quoted() ([]byte, bool) {
	if !d.take('"') {
		return nil, false
	}
	rest := d.in[d.pos:]
	end := bytes.IndexByte(rest, '"')
	if end < 0 {
		return nil, false
	}
	plain := true
	for _, c := range rest[:end] {
		if c < 0x20 {
			return nil, false
		}
		if c == '\\' {
			plain = false
			break
		}
	}
	if plain {
		d.pos += end + 1
		return rest[:end], true
	}
	d.text = d.text[:0]
	for i := 0; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == '"':
			d.pos += i + 1
			return d.text, true
		case c < 0x20:
			return nil, false
		case c == '\\':
			// AppendLine writes these two and no others.
			if i++; i >= len(rest) || rest[i] != '"' && rest[i] != '\\' {
				return nil, false
			}
			d.text = append(d.text, rest[i])
		default:
			d.text = append(d.text, c)
		}
	}
	return nil, false
}

func (d *decoder) word(to *string) bool {
	b, ok := d.quoted()
	if !ok {
		return false
	}
	if len(b) > maxWordLength {
		*to = string(b)
		return true
	}
	s, known := d.words[string(b)]
	if !known {
		s = string(b)
		if d.words == nil || len(d.words) >= maxWords {
			d.words = make(map[string]string)
		}
		d.words[s] = s
	}
	*to = s
	return true
}

func (d *decoder) list(to *[]string) bool {
	if !d.take('[') {
		return false
	}
	var out []string
	for {
		var s string
		if !d.word(&s) {
			return false
		}
		out = append(out, s)
		if d.take(']') {
			*to = out
			return true
		}
		if !d.take(',') {
			return false
		}
	}
}

func (d *decoder) truth(to *bool) bool {
	for _, word := range []string{"true", "false"} {
		if rest := d.in[d.pos:]; bytes.HasPrefix(rest, []byte(word)) {
			d.pos += len(word)
			*to = word == "true"
			return true
		}
	}
	return false
}

// unsigned reads up to 18 digits, which cannot overflow.
func (d *decoder) unsigned(to *uint64) bool {
	start, n := d.pos, uint64(0)
	for d.pos < len(d.in) && '0' <= d.in[d.pos] && d.in[d.pos] <= '9' {
		n = n*10 + uint64(d.in[d.pos]-'0')
		d.pos++
	}
	length := d.pos - start
	if length == 0 || length > 18 || length > 1 && d.in[start] == '0' {
		return false
	}
	*to = n
	return true
}

func (d *decoder) integer(to *int) bool {
	var n uint64
	negative := d.take('-')
	if !d.unsigned(&n) {
		return false
	}
	*to = int(n)
	if negative {
		*to = -*to
	}
	return true
}

// time reads timeLayout in UTC.
func (d *decoder) time(to *time.Time) bool {
	b, ok := d.quoted()
	const form = "0000-00-00T00:00:00.000000000Z"
	if !ok || len(b) != len(form) {
		return false
	}
	for i, c := range b {
		digit := form[i] == '0'
		if digit && (c < '0' || c > '9') || !digit && c != form[i] {
			return false
		}
	}
	num := func(from, to int) int {
		n := 0
		for _, c := range b[from:to] {
			n = n*10 + int(c-'0')
		}
		return n
	}
	month, day, hour, minute, second := num(5, 7), num(8, 10), num(11, 13), num(14, 16), num(17, 19)
	if month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 59 {
		return false
	}
	*to = time.Date(num(0, 4), time.Month(month), day, hour, minute, second, num(20, 29), time.UTC)
	return to.Day() == day // no 30th of February
}
