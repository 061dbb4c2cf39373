// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// timeLayout is RFC 3339 with all nine digits, so that lines of a run sort as text.
const timeLayout = "2006-01-02T15:04:05.000000000Z07:00"

// AppendLine appends r as one line of the trace, newline included. Names are escaped
// (Escape) and secrets in argument vectors masked (MaskArgv); r itself is not changed.
//
// It is written by hand because a flood of refusals encodes one line each while the
// refused task waits; TestAppendLineKnowsEveryField keeps it in step with Record.
func AppendLine(dst []byte, r *Record) []byte {
	dst = append(dst, `{"v":`...)
	dst = strconv.AppendInt(dst, int64(r.V), 10)
	dst = append(dst, `,"run":`...)
	dst = appendQuoted(dst, r.Run, false)
	dst = append(dst, `,"seq":`...)
	dst = strconv.AppendUint(dst, r.Seq, 10)
	dst = append(dst, `,"time":"`...)
	dst = r.Time.UTC().AppendFormat(dst, timeLayout)
	dst = append(dst, `","kind":`...)
	dst = appendQuoted(dst, string(r.Kind), false)

	dst = appendText(dst, `,"event":`, r.Event)
	dst = appendText(dst, `,"syscall":`, r.Syscall)
	dst = appendInt(dst, `,"pid":`, int64(r.PID))
	dst = appendInt(dst, `,"tid":`, int64(r.TID))
	dst = appendInt(dst, `,"ppid":`, int64(r.PPID))
	dst = appendName(dst, `,"exe":`, r.Exe)
	dst = appendName(dst, `,"comm":`, r.Comm)
	if len(r.Argv) > 0 {
		dst = appendList(dst, `,"argv":`, MaskArgv(r.Argv), true)
	}
	dst = appendText(dst, `,"scope":`, r.Scope)
	dst = appendName(dst, `,"path":`, r.Path)
	dst = appendName(dst, `,"resolved":`, r.Resolved)
	dst = appendList(dst, `,"access":`, r.Access, false)
	dst = appendList(dst, `,"flags":`, r.Flags, false)
	dst = appendList(dst, `,"need":`, r.Need, false)
	dst = appendText(dst, `,"act":`, r.Act)
	dst = appendText(dst, `,"type":`, r.Type)
	dst = appendText(dst, `,"device":`, r.Device)
	dst = appendList(dst, `,"held":`, r.Held, false)
	dst = appendList(dst, `,"names":`, r.Names, true)
	dst = appendList(dst, `,"facts":`, r.Facts, false)
	dst = appendName(dst, `,"addr":`, r.Addr)
	dst = appendInt(dst, `,"port":`, int64(r.Port))
	dst = appendText(dst, `,"family":`, r.Family)
	dst = appendText(dst, `,"proto":`, r.Proto)
	dst = appendText(dst, `,"verdict":`, r.Verdict)
	dst = appendText(dst, `,"errno":`, r.Errno)
	dst = appendText(dst, `,"rule":`, r.Rule)
	dst = appendText(dst, `,"layer":`, r.Layer)
	dst = appendText(dst, `,"reason":`, r.Reason)
	dst = appendText(dst, `,"hint":`, r.Hint)
	dst = appendText(dst, `,"fix":`, r.Fix)
	dst = appendText(dst, `,"agent":`, r.Agent)
	if r.Audit {
		dst = append(dst, `,"audit":true`...)
	}
	if r.Count != 0 {
		dst = append(dst, `,"count":`...)
		dst = strconv.AppendUint(dst, r.Count, 10)
	}
	dst = appendInt(dst, `,"took_us":`, r.TookUS)
	dst = appendInt(dst, `,"stops":`, int64(r.Stops))
	if r.Ask != nil {
		dst = appendValue(dst, `,"ask":`, r.Ask)
	}
	if r.Start != nil {
		start := *r.Start
		start.Command = escapeAll(MaskArgv(start.Command))
		start.Work, start.Cwd, start.Tmp = Escape(start.Work), Escape(start.Cwd), Escape(start.Tmp)
		if len(start.Flags) > 0 {
			start.Flags = escapeAll(MaskArgv(start.Flags))
		}
		start.Lifted = escapeAll(start.Lifted)
		start.Fence, start.Grants = Escape(start.Fence), escapeAll(start.Grants)
		dst = appendValue(dst, `,"start":`, start)
	}
	if r.End != nil {
		dst = appendValue(dst, `,"end":`, r.End)
	}
	return append(dst, '}', '\n')
}

// appendName is for what the tree chose; appendText for our own words, which may quote it.
func appendName(dst []byte, key, s string) []byte {
	if s == "" {
		return dst
	}
	return appendQuoted(append(dst, key...), s, true)
}

func appendText(dst []byte, key, s string) []byte {
	if s == "" {
		return dst
	}
	return appendQuoted(append(dst, key...), s, false)
}

func appendInt(dst []byte, key string, n int64) []byte {
	if n == 0 {
		return dst
	}
	return strconv.AppendInt(append(dst, key...), n, 10)
}

func appendList(dst []byte, key string, list []string, names bool) []byte {
	if len(list) == 0 {
		return dst
	}
	dst = append(dst, key...)
	for i, s := range list {
		if i == 0 {
			dst = append(dst, '[')
		} else {
			dst = append(dst, ',')
		}
		dst = appendQuoted(dst, s, names)
	}
	return append(dst, ']')
}

// appendValue encodes the two rare objects (one of each a run) by reflection.
func appendValue(dst []byte, key string, v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // <, > and & are ordinary in paths
	if err := enc.Encode(v); err != nil {
		return dst // cannot happen: strings, integers and a map of them
	}
	return append(append(dst, key...), bytes.TrimSuffix(b.Bytes(), []byte{'\n'})...)
}

func escapeAll(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = Escape(s)
	}
	return out
}

// appendQuoted appends Escape(s) (or, without names, EscapeText(s)) as a JSON string.
// Escaping leaves nothing that JSON would have to escape but '"' and '\'.
func appendQuoted(dst []byte, s string, names bool) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= 0x20 && c != 0x7f && c != '"' && c != '\\' {
				i++
				continue
			}
			dst = append(dst, s[start:i]...)
			switch {
			case c == '"':
				dst = append(dst, '\\', '"')
			case c == '\\' && names:
				dst = append(dst, `\\\\`...)
			case c == '\\':
				dst = append(dst, `\\`...)
			default:
				dst = append(dst, '\\', '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
			}
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if visible(r, size) {
			i += size
			continue
		}
		dst = append(dst, s[start:i]...)
		for _, b := range []byte(s[i : i+size]) {
			dst = append(dst, '\\', '\\', 'x', hexDigits[b>>4], hexDigits[b&15])
		}
		i += size
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}
