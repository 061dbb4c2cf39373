// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ptguard/internal/ktest"
	"ptguard/record"
)

// hostile are names that would run, or break the page, if they were taken for markup, and what
// the trace's escapes make of them.
var hostile = []string{
	`</script><script>document.title="pwned"</script>`, `<img src=x onerror=document.title="pwned">`, `"><svg onload=document.title='pwned'>`,
	`<!--<script>`, `]]>`, "${document.title='pwned'}", "line\u2028end", "bidi\u202egpj.exe", "not\xffutf8", `back\slash`,
}

// reportPage makes the page of a trace and opens it.
func reportPage(t *testing.T, b *browser, trace string) {
	t.Helper()
	box := ktest.NewBox(t, nil)
	page := filepath.Join(t.TempDir(), "report.html")
	if r := box.Bare(t, ktest.Binary(t), "report", trace, "-o", page); r.Status != 0 || r.Stderr != "" {
		t.Fatalf("%v", r)
	}
	b.open(page)
}

// traceLines writes records as ptguard does.
func traceLines(t *testing.T, records []*record.Record) string {
	t.Helper()
	var text []byte
	for i, r := range records {
		r.V, r.Run, r.Seq = record.Version, "r1", uint64(i+1)
		if r.Time.IsZero() {
			r.Time = time.Date(2026, 3, 1, 12, 0, 0, i*1e6, time.UTC)
		}
		text = record.AppendLine(text, r)
	}
	name := filepath.Join(t.TempDir(), "trace.jsonl")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// The page never takes the place of its trace.
func TestReportKeepsTheTrace(t *testing.T) {
	b := ktest.NewBox(t, nil)
	b.Guard(t, nil, "sh", "-c", "echo x > ../outside/a")
	before, err := os.ReadFile(b.Trace)
	if err != nil {
		t.Fatal(err)
	}
	r := b.Run(t, ktest.Cmd{Argv: []string{ktest.Binary(t), "report", b.Trace, "-o", b.Trace}})
	if after, err := os.ReadFile(b.Trace); r.Status != 125 || !strings.Contains(r.Stderr, "would replace the trace") || string(after) != string(before) {
		t.Errorf("report over its trace: %v %v", r, err)
	}
}

// TestReport runs a program, makes the page of its trace, and uses the page as a person does,
// by mouse and by keyboard, in Chromium. Each number on the page is known from what ran.
func TestReport(t *testing.T) {
	b := newBrowser(t)
	box := ktest.NewBox(t, nil)
	script := `cat /etc/passwd >/dev/null
for i in 1 2 3; do echo x > ../outside/one; done
sh -c 'echo x > ../outside/two; cat ../outside/three'
echo x > "../outside/$1"; kill -0 1; true`
	argv := []string{"sh", "-c", script, "sh", `<img src=x onerror=document.title='pwned'>`}
	if r := box.Bare(t, argv...); r.Status != 0 || !fileExists(box.Path("outside/one")) {
		t.Fatalf("bare: %v", r)
	}
	box.Reset(t)
	if r := box.Guard(t, []string{"--trace-level", "all", "--deny-exec", "cp"}, argv...); r.Status != 0 {
		t.Fatalf("guarded: %v", r)
	}
	b.size(1200, 900, "light")
	reportPage(t, b, box.Trace)

	// Four objects: one three times, and a signal to a process outside.
	denials := box.Denials(t)
	refused := 0
	for _, r := range denials {
		refused += int(max(r.Count, 1))
	}
	var text string
	b.eval(`document.querySelector('#cards .bad b').textContent`, &text)
	if text != fmt.Sprint(refused) || refused < 6 {
		t.Errorf("%s acts refused, the trace has %d", text, refused)
	}
	b.eval(`document.body.innerText.replace(/\n/g, ' ')`, &text)
	for _, want := range []string{"echo x > ../outside/one", box.Path("outside/one"), box.Path("outside/two"), "--write " + box.Path("outside"), "Refusals"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q on the page:\n%s", want, text)
		}
	}

	// Search, by keyboard: "/" goes to the field.
	b.key("/")
	b.write("outside/two")
	b.until(`document.querySelector('#tab-refusals b').textContent === '1' && document.getElementById('count').textContent.includes(' of ')`)
	b.key("Escape")
	b.until(`/^\d+ records$/.test(document.getElementById('count').textContent)`)

	// The tabs, by keyboard.
	b.eval(`document.getElementById('tab-refusals').focus()`, nil)
	b.key("ArrowRight")
	b.until(`document.activeElement.id === 'tab-processes' && !document.getElementById('processes').hidden && document.getElementById('refusals').hidden`)
	b.until(`document.querySelectorAll('[role=treeitem]').length >= 2`)
	var levels []string
	b.eval(`[...document.querySelectorAll('#process-tree [role=treeitem]')].map((e) => e.getAttribute('aria-level') + ' ' + e.querySelector('.tn').textContent.replace(/\[.*/, ''))`, &levels)
	if got := strings.Join(levels, ", "); !strings.HasPrefix(got, "1 ptguard, 2 sh, 3 ") || !strings.Contains(got, "3 cat") || !strings.Contains(got, "4 cat") {
		t.Errorf("process tree %s", got)
	}
	b.eval(`document.getElementById('process-tree').focus()`, nil)
	b.key("Home")
	b.key("ArrowLeft")
	b.until(`document.querySelectorAll('#process-tree [role=treeitem]').length === 1`)
	b.key("ArrowRight")
	b.key("ArrowDown")
	b.key("Enter")
	b.until(`document.querySelector('.chip')?.textContent.startsWith('process sh[')`)
	b.eval(`document.querySelector('.chip').click()`, nil)
	b.until(`!document.querySelector('.chip')`)

	// Records: a click opens one, Escape closes it.
	b.eval(`document.getElementById('tab-records').click(); document.getElementById('verdict').value = 'refused'; document.getElementById('verdict').dispatchEvent(new Event('change'))`, nil)
	b.until(fmt.Sprintf(`document.querySelectorAll('#record-list [role=row]').length === %d`, len(denials)))
	b.eval(`document.querySelector('#record-list [role=row]').click()`, nil)
	b.until(`document.getElementById('detail').open`)
	b.eval(`document.getElementById('detail').innerText`, &text)
	for _, want := range []string{denials[0].Syscall, denials[0].Rule, denials[0].Reason, denials[0].Fix, "EPERM"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the details:\n%s", want, text)
		}
	}
	b.key("Escape")
	b.until(`!document.getElementById('detail').open`)

	// The timeline filters, and takes it back.
	b.eval(`[...document.querySelectorAll('#timeline [role=option]')].find((e) => e.querySelector('.b-bad')).click()`, nil)
	b.until(`document.querySelectorAll('#timeline [aria-selected=true]').length === 1 && document.querySelector('.chip')?.textContent.startsWith('time')`)
	b.eval(`document.getElementById('clear').click()`, nil)
	b.until(`!document.querySelector('#timeline [aria-selected=true]')`)

	// Files fold.
	b.eval(`document.getElementById('tab-files').click()`, nil)
	b.until(`document.querySelectorAll('#file-tree [aria-expanded]').length > 0`)

	// Dark and light are two pictures; by the system's wish and by the button.
	b.eval(`document.getElementById('tab-refusals').click()`, nil)
	light := b.picture("report-light")
	b.size(1200, 900, "dark")
	dark := b.picture("report-dark")
	b.eval(`document.getElementById('theme').click()`, nil) // auto -> light
	if l, d := brightness(t, light), brightness(t, dark); l < 200 || d > 60 {
		t.Errorf("brightness: light %d, dark %d of 255", l, d)
	}
	if l := brightness(t, b.picture("report-button")); l < 200 {
		t.Errorf("the button does not make it light: %d of 255", l)
	}

	// On paper every part is there, and the rows are not only those of the window.
	b.eval(`window.dispatchEvent(new Event('beforeprint'))`, nil)
	var pdf struct{ Data string }
	b.call("Page.printToPDF", map[string]any{}, &pdf)
	if len(pdf.Data) < 10_000 {
		t.Errorf("a print of %d bytes", len(pdf.Data))
	}
	quiet(t, b)
}

// quiet fails the test if the page asked for anything, or something went wrong in it.
func quiet(t *testing.T, b *browser) {
	t.Helper()
	var title string
	b.eval("document.title", &title)
	if !strings.HasPrefix(title, "ptguard report: ") {
		t.Errorf("the title is %q", title)
	}
	for _, kind := range []string{"Runtime.exceptionThrown", "Log.entryAdded"} {
		for _, e := range b.of(kind) {
			t.Errorf("%s: %s", kind, e.Params)
		}
	}
	for _, e := range b.of("Network.requestWillBeSent") {
		var p struct{ Request struct{ URL string } }
		if err := json.Unmarshal(e.Params, &p); err != nil || !strings.HasPrefix(p.Request.URL, "file://") || !strings.HasSuffix(p.Request.URL, "/report.html") {
			t.Errorf("the page asked for %s", p.Request.URL)
		}
	}
}

func fileExists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// brightness is the mean of the picture's grey values.
func brightness(t *testing.T, data []byte) int {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	sum, n := 0, 0
	r := img.Bounds()
	for y := r.Min.Y; y < r.Max.Y; y += 4 {
		for x := r.Min.X; x < r.Max.X; x += 4 {
			red, green, blue, _ := img.At(x, y).RGBA()
			sum += int(red+green+blue) / 3 >> 8
			n++
		}
	}
	return sum / n
}

// TestReportHostile: whatever a name holds, it is text on the page. The check could fail: the
// same markup in a page of its own does run.
func TestReportHostile(t *testing.T) {
	b := newBrowser(t)
	proof := filepath.Join(t.TempDir(), "proof.html")
	if err := os.WriteFile(proof, []byte("<title>x</title><body>"+hostile[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	b.call("Page.navigate", map[string]any{"url": "file://" + proof}, nil)
	b.until(`document.title === 'pwned'`)
	b.forget()

	records := []*record.Record{{Kind: record.KindStart, PID: 1, Start: &record.Start{Command: hostile, Work: hostile[0], Mode: "permissive", Tier: hostile[1], Kernel: hostile[2], Version: hostile[3]}}}
	for _, name := range hostile {
		records = append(records, &record.Record{
			Kind: record.KindDenial, Event: name, Syscall: name, PID: 7, PPID: 1, Exe: "/bin/" + name, Comm: name, Argv: []string{name}, Path: name, Resolved: "/x/" + name,
			Access: []string{"read"}, Flags: []string{name}, Verdict: "deny", Rule: name, Layer: name, Reason: name, Hint: name, Fix: "--read " + name,
		})
	}
	b.size(1200, 900, "light")
	reportPage(t, b, traceLines(t, records))
	for _, tab := range []string{"refusals", "processes", "files", "network", "records"} {
		b.eval(`document.getElementById('tab-`+tab+`').click()`, nil)
		b.eval(`document.querySelectorAll('#panels img, #panels svg, #panels script, header img').length`, new(int))
		var n int
		b.eval(`document.querySelectorAll('img, svg, iframe, object').length`, &n)
		if n != 0 {
			t.Errorf("%s: %d elements that a name made", tab, n)
		}
	}
	b.eval(`document.querySelectorAll('#record-list [role=row]')[1].click()`, nil)
	b.until(`document.getElementById('detail').open`)
	var text string
	b.eval(`document.getElementById('detail').innerText`, &text)
	if !strings.Contains(text, hostile[0]) {
		t.Errorf("the name is not shown as it is:\n%s", text)
	}
	quiet(t, b)
}

// TestReportBig: at 100 000 records the page holds the rows of a window, not all, and answers.
func TestReportBig(t *testing.T) {
	const n = 100_000
	records := make([]*record.Record, 0, n)
	for i := range n {
		r := &record.Record{
			Kind: record.KindDecision, Syscall: "openat", Event: "open", PID: 10 + i%300, PPID: 9 + i%300, Exe: "/usr/bin/node", Comm: "node",
			Resolved: fmt.Sprintf("/srv/%d/%d/file%d", i%7, i%101, i), Access: []string{"read"}, Verdict: "allow", Rule: "builtin @work",
		}
		if i%50 == 0 {
			r.Kind, r.Verdict, r.Rule, r.Reason, r.Fix = record.KindDenial, "deny", "mode permissive", "outside", fmt.Sprintf("--write /srv/%d", i%7)
		}
		records = append(records, r)
	}
	b := newBrowser(t)
	b.size(1200, 900, "light")
	reportPage(t, b, traceLines(t, records))
	var count string
	b.eval(`document.getElementById('count').textContent`, &count)
	if count != "100,000 records" {
		t.Errorf("%q", count)
	}
	b.eval(`document.getElementById('tab-records').click(); document.getElementById('record-list').focus()`, nil)
	b.key("End")
	b.until(`document.querySelector('#record-list .active')?.textContent.includes('file99999')`)
	for _, tab := range []string{"refusals", "processes", "files", "records"} {
		b.eval(`document.getElementById('tab-`+tab+`').click()`, nil)
		var nodes int
		b.eval(`document.querySelectorAll('*').length`, &nodes)
		if nodes > 8000 {
			t.Errorf("%s: %d elements in the page", tab, nodes)
		}
		b.picture("big-" + tab)
	}
	b.key("/")
	b.write("file77777")
	b.until(`document.getElementById('count').textContent === '1 of 100,000 records'`)
	quiet(t, b)
}
