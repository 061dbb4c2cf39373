// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Limits of the tree: processes it keeps, kinds of refusal of a process it shows, and how
// deep it draws.
const (
	treeProcesses = 100_000
	treeRefusals  = 50
	treeDepth     = 40
)

// NewTree returns a Renderer of the process tree: beneath each process what it was refused,
// with the fix, and how often it did what. Close writes it.
func NewTree(w io.Writer, colour bool) Renderer {
	return &tree{w: w, colour: colour, known: make(map[processKey]*treeNode)}
}

type processKey struct {
	run string
	pid int
}

type tree struct {
	w      io.Writer
	colour bool
	nodes  []*treeNode
	known  map[processKey]*treeNode
	runs   []treeRun
	others uint64 // records of processes beyond treeProcesses
}

type treeRun struct {
	id         string
	start, end string
}

type treeNode struct {
	key      processKey
	ppid     int
	comm     string
	argv     string
	refusals []treeRefusal
	more     uint64 // refusals beyond treeRefusals
	allowed  []treeCount
	children []*treeNode
	drawn    bool
}

type treeRefusal struct {
	text, fix string
	n         uint64
}

type treeCount struct {
	access string
	n      uint64
}

func (t *tree) Add(r *Record, _ []byte) error {
	if len(t.runs) == 0 || t.runs[len(t.runs)-1].id != r.Run {
		if !slices.ContainsFunc(t.runs, func(x treeRun) bool { return x.id == r.Run }) && len(t.runs) < treeProcesses {
			t.runs = append(t.runs, treeRun{id: r.Run})
		}
	}
	switch {
	case r.Start != nil:
		t.run(r.Run, func(x *treeRun) { x.start = strings.Join(r.Start.Command, " ") })
		return nil
	case r.End != nil:
		t.run(r.Run, func(x *treeRun) { x.end = endText(r.End) })
		return nil
	case !r.Kind.Refusal() && r.Kind != KindDecision && r.Kind != KindExec:
		return nil
	}
	n := t.node(r)
	if n == nil {
		t.others++
		return nil
	}
	if argv := strings.Join(r.Argv, " "); argv != "" && (r.Kind == KindExec || n.argv == "" || !isExec(r)) {
		n.argv, n.comm = argv, r.Comm
	}
	n.comm = cmp.Or(n.comm, r.Comm)
	switch r.Kind {
	case KindDenial, KindSeal, KindScope, KindFence:
		n.refuse(r)
	case KindDecision:
		n.allow(cmp.Or(strings.Join(r.Access, "+"), "other"))
	}
	return nil
}

// isExec tells that the record still shows the image that the process is about to leave.
func isExec(r *Record) bool { return slices.Contains(r.Access, "exec") }

func (t *tree) run(id string, f func(*treeRun)) {
	for i := range t.runs {
		if t.runs[i].id == id {
			f(&t.runs[i])
		}
	}
}

func (t *tree) node(r *Record) *treeNode {
	key := processKey{r.Run, r.PID}
	n := t.known[key]
	if n == nil {
		if len(t.nodes) >= treeProcesses {
			return nil
		}
		n = &treeNode{key: key}
		t.known[key], t.nodes = n, append(t.nodes, n)
	}
	if n.ppid == 0 {
		n.ppid = r.PPID
	}
	return n
}

func (n *treeNode) refuse(r *Record) {
	text := refusalText(r)
	times := max(r.Count, 1)
	for i := range n.refusals {
		if n.refusals[i].text == text {
			n.refusals[i].n += times
			return
		}
	}
	if len(n.refusals) >= treeRefusals {
		n.more += times
		return
	}
	n.refusals = append(n.refusals, treeRefusal{text, r.Fix, times})
}

func (n *treeNode) allow(access string) {
	for i := range n.allowed {
		if n.allowed[i].access == access {
			n.allowed[i].n++
			return
		}
	}
	n.allowed = append(n.allowed, treeCount{access, 1})
}

// refusalText is a judged call in a few words: denied write /etc/hosts: outside the writable roots.
func refusalText(r *Record) string {
	word := verdictWords[r.Verdict]
	switch {
	case word != "":
	case r.Kind == KindDecision:
		word = "allowed"
	default:
		word = "denied"
	}
	text := word + " " + cmp.Or(strings.Join(r.Access, ","), "call") + " " + cmp.Or(Object(r), r.Syscall)
	if r.Reason != "" {
		text += ": " + r.Reason
	}
	return text
}

// Close draws. The parent of a process may appear after it, or never.
func (t *tree) Close() error {
	b := bufio.NewWriterSize(t.w, 64<<10)
	roots := make(map[string][]*treeNode)
	for _, n := range t.nodes {
		if p := t.known[processKey{n.key.run, n.ppid}]; p != nil && p != n {
			p.children = append(p.children, n)
		} else {
			roots[n.key.run] = append(roots[n.key.run], n)
		}
	}
	for i, run := range t.runs {
		if i > 0 {
			fmt.Fprintln(b)
		}
		fmt.Fprintf(b, "run %s  %s\n", EscapeText(run.id), EscapeText(run.start))
		if run.end != "" {
			fmt.Fprintf(b, "        %s\n", EscapeText(run.end))
		}
		t.drawAll(b, roots[run.id])
		// A file that somebody made up may hold processes that are their own ancestors.
		for _, n := range t.nodes {
			if n.key.run == run.id && !n.drawn {
				t.drawAll(b, []*treeNode{n})
			}
		}
	}
	if t.others > 0 {
		fmt.Fprintf(b, "%d records of more than %d processes are left out\n", t.others, treeProcesses)
	}
	return b.Flush()
}

func (t *tree) drawAll(b *bufio.Writer, roots []*treeNode) {
	for i, n := range roots {
		t.draw(b, n, "", i == len(roots)-1, 0)
	}
}

func (t *tree) draw(b *bufio.Writer, n *treeNode, indent string, last bool, depth int) {
	if n.drawn {
		return
	}
	n.drawn = true
	branch, below := "├─ ", "│  "
	if last {
		branch, below = "└─ ", "   "
	}
	name := fmt.Sprintf("%s[%d]", cmp.Or(n.comm, "?"), n.key.pid)
	if n.key.pid == 0 {
		name = "several processes"
	}
	fmt.Fprintf(b, "%s%s%s  %s\n", indent, branch, EscapeText(name), EscapeText(n.argv))
	if depth < treeDepth {
		indent += below
	}
	n.children = slices.DeleteFunc(n.children, func(c *treeNode) bool { return c.drawn })
	bar := "   "
	if len(n.children) > 0 {
		bar = "│  "
	}
	for _, r := range n.refusals {
		text := EscapeText(r.text)
		if t.colour {
			word, rest, _ := strings.Cut(text, " ")
			text = "\x1b[31m" + word + "\x1b[0m " + rest
		}
		fmt.Fprintf(b, "%s%s%s", indent, bar, text)
		if r.n > 1 {
			fmt.Fprintf(b, " (%d times)", r.n)
		}
		fmt.Fprintln(b)
		if r.fix != "" {
			fmt.Fprintf(b, "%s%s  allow with: %s\n", indent, bar, EscapeText(r.fix))
		}
	}
	if n.more > 0 {
		fmt.Fprintf(b, "%s%sand %d more refusals\n", indent, bar, n.more)
	}
	if len(n.allowed) > 0 {
		slices.SortStableFunc(n.allowed, func(a, b treeCount) int { return cmp.Compare(b.n, a.n) })
		var words []string
		for _, a := range n.allowed {
			words = append(words, fmt.Sprintf("%d %s", a.n, a.access))
		}
		fmt.Fprintf(b, "%s%sallowed %s\n", indent, bar, EscapeText(strings.Join(words, ", ")))
	}
	for i, c := range n.children {
		t.draw(b, c, indent, i == len(n.children)-1, depth+1)
	}
}
