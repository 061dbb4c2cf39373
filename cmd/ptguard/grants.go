// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"
	"ptguard/record"
	"ptguard/rules"
)

// approval is one answer "always", as the file has it. Names are escaped as in a trace.
type approval struct {
	ID     string    `json:"id"`
	Time   time.Time `json:"time"`
	Where  string    `json:"where"`
	Access string    `json:"access"` // read, write, exec, connect, bind
	Path   string    `json:"path,omitempty"`
	// Of a socket address: Proto is tcp, udp or empty.
	Proto string `json:"proto,omitempty"`
	Addr  string `json:"addr,omitempty"` // IP:PORT
	Unix  string `json:"unix,omitempty"` // abstract name
}

var protoWords = map[rules.Proto]string{rules.ProtoTCP: "tcp", rules.ProtoUDP: "udp"}

func newApproval(where string, g rules.Grant) approval {
	word, _, _ := strings.Cut(g.String(), " ")
	a := approval{ID: strings.ToLower(rand.Text()[:6]), Time: time.Now().UTC().Truncate(time.Second), Where: where, Access: word}
	switch {
	case g.Path != "":
		a.Path = record.Escape(g.Path)
	case g.Addr.Abstract != "":
		a.Unix = record.Escape(g.Addr.Abstract)
	default:
		a.Proto, a.Addr = protoWords[g.Addr.Proto], netip.AddrPortFrom(g.Addr.IP, g.Addr.Port).String()
	}
	return a
}

func (a *approval) same(b *approval) bool {
	x, y := *a, *b
	x.ID, y.ID, x.Time, y.Time = "", "", time.Time{}, time.Time{}
	return x == y
}

// grant is the inverse of newApproval; ok is false for what this version would not keep.
func (a *approval) grant() (g rules.Grant, ok bool) {
	g = rules.Grant{Kind: rules.GrantAlways, Access: rules.GrantAccess(a.Access), Path: record.Unescape(a.Path)}
	if g.Access == 0 {
		return g, false
	}
	switch {
	case a.Path != "":
		return g, filepath.IsAbs(g.Path) && filepath.Clean(g.Path) == g.Path && g.Path != "/"
	case a.Unix != "":
		g.Addr = rules.Addr{Family: unix.AF_UNIX, Abstract: record.Unescape(a.Unix)}
		return g, true
	}
	addr, err := netip.ParseAddrPort(a.Addr)
	g.Addr = rules.Addr{Family: unix.AF_INET, IP: addr.Addr(), Port: addr.Port()}
	if addr.Addr().Is6() {
		g.Addr.Family = unix.AF_INET6
	}
	for proto, word := range protoWords {
		if word == a.Proto {
			g.Addr.Proto = proto
		}
	}
	return g, err == nil
}

// readApprovals reads the file's lines, strictly.
func readApprovals(r io.Reader, name string) ([]approval, error) {
	var out []approval
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 64<<10)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var a approval
		dec := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		dec.DisallowUnknownFields()
		err := dec.Decode(&a)
		if _, ok := a.grant(); err == nil && !ok {
			err = errors.New("not an approval")
		}
		if err != nil {
			return nil, fmt.Errorf("approvals: %s:%d: %w (remove the line)", record.Escape(name), n, err)
		}
		out = append(out, a)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("approvals: %s: %w", record.Escape(name), err)
	}
	return out, nil
}

func approvalLines(list []approval) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for i := range list {
		_ = enc.Encode(&list[i]) // strings and a time
	}
	return b.Bytes()
}

// grantsCmd is "ptguard grants [list | revoke ID…]".
type grantsCmd struct {
	Action string   `arg:"" optional:"" enum:"list,revoke" default:"list" help:"list or revoke (default ${default})."`
	ID     []string `arg:"" optional:"" placeholder:"ID" help:"What to revoke, by the id that list shows."`
	All    bool     `help:"Revoke all (default off)."`
}

// Run is called by kong.
func (c *grantsCmd) Run() error {
	book, err := openApprovals()
	if err != nil {
		return err
	}
	if c.Action == "revoke" {
		return c.revoke(book)
	}
	if len(c.ID) > 0 || c.All {
		return errors.New("grants list takes no ids; to take one back: ptguard grants revoke ID")
	}
	list, err := book.read()
	if err != nil {
		return err
	}
	if len(list) == 0 {
		fmt.Println("no grants")
		return nil
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)
	for i := range list {
		a := &list[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", a.ID, a.Time.Local().Format("2006-01-02 15:04"), a.text(), record.EscapeText(a.Where))
	}
	return w.Flush()
}

func (a *approval) text() string {
	g, _ := a.grant()
	return record.Escape(g.String())
}

func (c *grantsCmd) revoke(book *approvals) error {
	if len(c.ID) == 0 == !c.All {
		return errors.New("which grants? ptguard grants revoke ID…, with the ids of ptguard grants list, or --all")
	}
	gone, err := book.revoke(c.ID, c.All)
	if err != nil {
		return err
	}
	found := map[string]bool{}
	for i := range gone {
		found[gone[i].ID] = true
		fmt.Printf("revoked %s\n", gone[i].text())
	}
	if c.All && len(gone) == 0 {
		fmt.Println("no grants")
	}
	for _, id := range c.ID {
		if !found[id] {
			err = errors.Join(err, fmt.Errorf("no grant has the id %s", record.Escape(id)))
		}
	}
	return err
}
