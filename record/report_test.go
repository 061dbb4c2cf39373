// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// The data block of the page holds nothing that a browser could take for markup, and reads
// back as what went in. (The page itself is tried in a browser: cmd/ptguard, TestReport.)
func TestReportData(t *testing.T) {
	hostile := "</script><!--\u2028'\"&"
	r := act(KindDenial, 5, 1, hostile, hostile, "read")
	r.Resolved, r.Rule, r.Count = "/x/"+hostile, hostile, 3
	var out bytes.Buffer
	shown(t, NewReport(&out, hostile), r, act(KindDecision, 6, 5, "y", "y", "write"), &Record{Kind: KindEnd, End: &End{Status: 4}})
	page := out.String()
	_, data, found := strings.Cut(page, `<script type="application/json" id="data">`)
	data, _, closed := strings.Cut(data, "</script>")
	if !found || !closed || strings.ContainsAny(data, "<>&\u2028") {
		t.Errorf("the data block: %v %v\n%s", found, closed, data)
	}
	var got reportPage
	if err := json.Unmarshal([]byte(data), &got); err != nil {
		t.Fatal(err)
	}
	want := "/x/" + Escape(hostile)
	if s := got.Strings[got.Rows.Obj[0]]; s != want {
		t.Errorf("object %q, want %q", s, want)
	}
	if got.Total != 3 || got.Denials != 3 || len(got.Runs) != 1 || got.Runs[0].End.Status != 4 || got.Rows.Count[0] != 3 || len(got.Who) != 3 {
		t.Errorf("%+v", got)
	}
	if strings.Count(page, "<script") != 2 || !strings.Contains(page, "default-src &#39;none&#39;; script-src &#39;sha256-") || strings.Contains(page, "http://") || strings.Contains(page, "https://") {
		t.Error("the page is not as its policy wants it")
	}
}

// Beyond its rows a report counts; refusals go on for longer than the rest.
func TestReportBounded(t *testing.T) {
	var out bytes.Buffer
	p := NewReport(&out, "x")
	allow, deny := act(KindDecision, 6, 5, "y", "y", "write"), act(KindDenial, 6, 5, "y", "y", "write")
	for range reportAllowed + 1000 {
		if err := p.Add(allow, nil); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		if err := p.Add(deny, nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(p.rows.Time) != reportAllowed+5 || p.page.Total != reportAllowed+1005 || p.page.Denials != 5 {
		t.Errorf("%d rows, %d records, %d refusals", len(p.rows.Time), p.page.Total, p.page.Denials)
	}
	if err := NewReport(&out, "x").Close(); err == nil {
		t.Error("a page of nothing")
	}
}
