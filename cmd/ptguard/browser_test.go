// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// browser is a headless Chromium with one page, driven by the DevTools protocol over a pair
// of pipes (--remote-debugging-pipe): messages are JSON objects that end in a NUL.
type browser struct {
	t       *testing.T
	to      *os.File
	session string
	tail    *bytes.Buffer

	mu      sync.Mutex
	last    int
	waiting map[int]chan answer
	events  []event
	gone    error
}

type answer struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

type event struct {
	Method string
	Params json.RawMessage
}

// newBrowser starts one; it ends with the test.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	dir := t.TempDir()
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(
		"chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--disable-extensions", "--hide-scrollbars", "--lang=en-GB",
		"--proxy-server=127.0.0.1:9", // nothing can leave
		"--user-data-dir="+dir, "--remote-debugging-pipe", "about:blank",
	)
	cmd.ExtraFiles = []*os.File{inR, outW}
	cmd.Env = append(os.Environ(), "HOME="+dir, "TZ=UTC", "DBUS_SESSION_BUS_ADDRESS=disabled:")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	b := &browser{t: t, to: inW, waiting: make(map[int]chan answer), tail: new(bytes.Buffer)}
	cmd.Stderr = b.tail
	if err := cmd.Start(); err != nil {
		t.Fatalf("chromium (.ci/run installs it): %v", err)
	}
	inR.Close()
	outW.Close()
	read := make(chan struct{})
	go func() {
		b.read(outR)
		close(read)
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the group has not been waited for
		_ = cmd.Wait()
		inW.Close()
		<-read
		outR.Close()
	})
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page.enable", "Runtime.enable", "Log.enable", "Network.enable"} {
		b.call(domain, nil, nil)
	}
	return b
}

func (b *browser) read(r *os.File) {
	in := bufio.NewReader(r)
	for {
		msg, err := in.ReadBytes(0)
		b.mu.Lock()
		if err != nil {
			b.gone = errors.Join(errors.New("chromium is gone"), err)
			for _, c := range b.waiting {
				close(c)
			}
			b.waiting = nil
			b.mu.Unlock()
			return
		}
		var m struct {
			ID int
			answer
			event
		}
		if json.Unmarshal(msg[:len(msg)-1], &m) == nil {
			if c := b.waiting[m.ID]; m.ID != 0 && c != nil {
				delete(b.waiting, m.ID)
				c <- m.answer
			} else if m.ID == 0 {
				b.events = append(b.events, m.event)
			}
		}
		b.mu.Unlock()
	}
}

// call makes one call of the protocol and waits for its answer.
func (b *browser) call(method string, params, result any) {
	b.t.Helper()
	if params == nil {
		params = map[string]any{}
	}
	b.mu.Lock()
	b.last++
	msg := map[string]any{"id": b.last, "method": method, "params": params}
	if b.session != "" {
		msg["sessionId"] = b.session
	}
	c := make(chan answer, 1)
	if b.gone == nil {
		b.waiting[b.last] = c
	} else {
		close(c)
	}
	b.mu.Unlock()
	text, err := json.Marshal(msg)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.to.Write(append(text, 0)); err != nil {
		b.t.Fatalf("%s: %v\n%s", method, err, b.tail)
	}
	select {
	case a, ok := <-c:
		switch {
		case !ok:
			b.t.Fatalf("%s: %v\n%s", method, b.gone, b.tail)
		case a.Error != nil:
			b.t.Fatalf("%s: %s", method, a.Error.Message)
		case result != nil:
			if err := json.Unmarshal(a.Result, result); err != nil {
				b.t.Fatal(err)
			}
		}
	case <-time.After(2 * time.Minute):
		b.t.Fatalf("%s: no answer\n%s", method, b.tail)
	}
}

// eval runs JavaScript in the page; a promise is waited for.
func (b *browser) eval(script string, result any) {
	b.t.Helper()
	var out struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	b.call("Runtime.evaluate", map[string]any{"expression": script, "returnByValue": true, "awaitPromise": true, "userGesture": true}, &out)
	if out.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s %s", script, out.ExceptionDetails.Text, out.ExceptionDetails.Exception.Description)
	}
	if result != nil {
		if err := json.Unmarshal(out.Result.Value, result); err != nil {
			b.t.Fatalf("%s: %v in %s", script, err, out.Result.Value)
		}
	}
}

// until waits for a condition of the page, which is asked at each of its frames.
func (b *browser) until(condition string) {
	b.t.Helper()
	var ok bool
	b.eval(fmt.Sprintf(`new Promise((done) => { const end = Date.now() + 60000; const look = () => { if (%s) done(true); else if (Date.now() > end) done(false); else setTimeout(look, 10); }; look(); })`, condition), &ok)
	if !ok {
		var text string
		b.eval("document.body.innerText.slice(0, 3000)", &text)
		b.t.Fatalf("the page never came to: %s\n%s", condition, text)
	}
}

// open loads a file and waits for the report's script to be done.
func (b *browser) open(file string) {
	b.t.Helper()
	b.call("Page.navigate", map[string]any{"url": "file://" + file}, nil)
	b.until("location.protocol === 'file:' && document.documentElement?.dataset.ready === '1'")
}

// key presses a key, as the keyboard would.
func (b *browser) key(key string) {
	b.t.Helper()
	codes := map[string]int{"Enter": 13, "Escape": 27, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Tab": 9, "PageDown": 34}
	down := map[string]any{"type": "rawKeyDown", "key": key, "code": key, "windowsVirtualKeyCode": codes[key]}
	switch {
	case key == "Enter":
		down["type"], down["text"] = "keyDown", "\r"
	case len(key) == 1:
		down["type"], down["text"], down["windowsVirtualKeyCode"] = "keyDown", key, int(key[0])
	}
	b.call("Input.dispatchKeyEvent", down, nil)
	b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key, "code": key, "windowsVirtualKeyCode": codes[key]}, nil)
}

// write types text into what has the focus.
func (b *browser) write(text string) {
	b.t.Helper()
	b.call("Input.insertText", map[string]any{"text": text}, nil)
}

// size sets the window; scheme is light or dark.
func (b *browser) size(width, height int, scheme string) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// picture takes a screenshot, for people: where PTGUARD_TEST_PICTURES names a folder it is
// written there. It gives the bytes of the PNG.
func (b *browser) picture(name string) []byte {
	b.t.Helper()
	b.eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))", nil)
	var out struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &out)
	png, err := base64.StdEncoding.DecodeString(out.Data)
	if err != nil {
		b.t.Fatal(err)
	}
	if dir := os.Getenv("PTGUARD_TEST_PICTURES"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
			b.t.Fatal(err)
		}
	}
	return png
}

// of gives the events of one kind that came so far.
func (b *browser) of(method string) []event {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []event
	for _, e := range b.events {
		if e.Method == method {
			out = append(out, e)
		}
	}
	return out
}

// forget drops the events that came so far.
func (b *browser) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = nil
}
