// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

// filled returns a Record in which every field differs from its zero value.
func filled(t testing.TB) *Record {
	t.Helper()
	r := new(Record)
	fill(t, reflect.ValueOf(r).Elem())
	return r
}

func fill(t testing.TB, v reflect.Value) {
	for i := range v.NumField() {
		f, name := v.Field(i), v.Type().Field(i).Name
		switch f.Interface().(type) {
		case time.Time:
			f.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)))
			continue
		case []string:
			f.Set(reflect.ValueOf([]string{name + "1", "<" + name + "2>"}))
			continue
		case map[string]uint64:
			f.Set(reflect.ValueOf(map[string]uint64{name: 7}))
			continue
		}
		switch f.Kind() {
		case reflect.String:
			f.SetString(name + " \"é\"")
		case reflect.Int, reflect.Int64:
			f.SetInt(int64(i + 1))
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Uint64:
			f.SetUint(uint64(i + 1))
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
			fill(t, f.Elem())
		default:
			t.Fatalf("field %s: a kind that this test does not know", name)
		}
	}
}

func TestAppendLineKnowsEveryField(t *testing.T) {
	want := filled(t)
	line := AppendLine(nil, want)
	var got Record
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&got); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	if !reflect.DeepEqual(&got, want) {
		t.Errorf("got  %+v\nwant %+v", got, *want)
	}
	// Same keys, same order, same omissions as the struct tags promise.
	for _, r := range []*Record{want, {}} {
		var std bytes.Buffer
		enc := json.NewEncoder(&std)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(r); err != nil {
			t.Fatal(err)
		}
		own := string(AppendLine(nil, r))
		own = strings.Replace(own, "05.000000600Z", "05.0000006Z", 1)
		own = strings.Replace(own, "00.000000000Z", "00Z", 1)
		if own != std.String() {
			t.Errorf("own %s\nstd %s", own, &std)
		}
	}
}

func TestAppendLineEscapesNames(t *testing.T) {
	raw := "/a\\b\"\n\xff\u202e/é"
	r := &Record{Path: raw, Resolved: raw, Exe: raw, Comm: raw, Addr: raw, Argv: []string{raw}, Reason: raw, Start: &Start{Work: raw, Command: []string{raw}, Lifted: []string{raw}}}
	line := AppendLine(nil, r)
	if n := bytes.Count(line, []byte{'\n'}); n != 1 {
		t.Fatalf("%d newlines in %q", n, line)
	}
	var got Record
	if err := json.Unmarshal(line, &got); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]string{
		"path": got.Path, "resolved": got.Resolved, "exe": got.Exe, "comm": got.Comm, "addr": got.Addr, "argv": got.Argv[0],
		"work": got.Start.Work, "command": got.Start.Command[0], "lifted": got.Start.Lifted[0],
	} {
		if s != `/a\\b"\x0a\xff\xe2\x80\xae/é` || Unescape(s) != raw {
			t.Errorf("%s: %q", name, s)
		}
	}
	if want := `/a\b"\x0a\xff\xe2\x80\xae/é`; got.Reason != want {
		t.Errorf("reason %q, want %q", got.Reason, want)
	}
}

func FuzzAppendLine(f *testing.F) {
	f.Add("/etc/\xff", "x")
	f.Fuzz(func(t *testing.T, name, text string) {
		line := AppendLine(nil, &Record{Path: name, Reason: text})
		var got Record
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		if Unescape(got.Path) != name || got.Path != Escape(name) || got.Reason != EscapeText(text) {
			t.Fatalf("%q, %q came back as %q, %q", name, text, got.Path, got.Reason)
		}
	})
}
