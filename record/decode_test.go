// SPDX-License-Identifier: Apache-2.0

package record

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// The quick decoder must understand all that AppendLine writes into a denial.
func TestDecodeKnowsEveryField(t *testing.T) {
	want := filled(t)
	want.Ask, want.Start, want.End = nil, nil, nil // rare, and left to encoding/json
	want.Path = "\"a\\\n\xffé"
	line := strings.TrimSuffix(string(AppendLine(nil, want)), "\n")
	var got Record
	if !new(decoder).decode([]byte(line), &got) {
		t.Fatalf("gave up on %s", line)
	}
	want.Path = Escape(want.Path)
	if !reflect.DeepEqual(&got, want) {
		t.Errorf("got  %+v\nwant %+v", got, *want)
	}
}

// Whatever it understands, encoding/json understands in the same way.
func FuzzDecode(f *testing.F) {
	line := string(AppendLine(nil, denial("/etc/\xff\"")))
	for _, s := range []string{
		line, `{}`, `{"pid":-0,"pid":1,"access":["a","b"],"access":["c"]}`, `{"seq":01}`, `{"pid":1e3}`, `{"PID":1}`, `{"time":"2026-02-30T00:00:00.000000000Z"}`,
		`{"time":"2024-02-29T23:59:59.999999999Z"}`, `{"time":"0000-01-01T00:00:00.000000000Z"}`, `{"argv":[]}`, `{"exe":"\u0041"}`, `{"exe":null}`, `{"v":1,}`, `{"v":1}x`, `{"end":{}}`, `{"pid":999999999999999999}`,
	} {
		f.Add([]byte(strings.TrimSpace(s)))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var got, want Record
		var d decoder
		if !d.decode(line, &got) {
			return
		}
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatalf("%q: understood; encoding/json: %v", line, err)
		}
		if !got.Time.Equal(want.Time) {
			t.Fatalf("%q: time %v, encoding/json %v", line, got.Time, want.Time)
		}
		got.Time = want.Time
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q:\n got %+v\nwant %+v", line, got, want)
		}
	})
}
