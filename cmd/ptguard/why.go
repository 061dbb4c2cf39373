// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/kballard/go-shellquote"
	"golang.org/x/sys/unix"
	"ptguard/record"
	"ptguard/rules"
	"ptguard/tracer"
)

// whyCmd is "ptguard why ACCESS OBJECT…" and "ptguard why TRACE:SEQ".
type whyCmd struct {
	policyFlags
	Scope string `placeholder:"NAME" group:"policy" help:"Ask for a task in this scope of the policy (default none, or that of the record)."`
	JSON  bool   `name:"json" help:"Print a JSON object an act (default off)."`

	Words []string `arg:"" passthrough:"" placeholder:"ACCESS OBJECT…|TRACE:SEQ" help:"What to ask: read, write, look, list, create, remove, attr, map PATH…; exec PROGRAM ARG…; connect or bind [tcp|udp] IP:PORT, unix PATH, unix @NAME; mkdir PATH; rename, link or symlink FROM TO; or a record of a trace, by its seq."`
}

// whyAnswer is all that `why` says of one act; the keys are those of --json.
type whyAnswer struct {
	Asked   string      `json:"asked"`
	Verdict string      `json:"verdict"` // the strictest of the objects; without one, that of the record
	Objects []whyObject `json:"objects"`
	// Errno is the kernel's own answer today, where it would not come to a refusal.
	Errno string `json:"errno_today,omitempty"`
	// Record is what was recorded, for TRACE:SEQ, Note what is to be said of it.
	Record *record.Record `json:"record,omitempty"`
	Note   string         `json:"note,omitempty"`
}

// whyObject is the answer for one object of the act.
type whyObject struct {
	Access  string    `json:"access"`
	Object  string    `json:"object"`
	Verdict string    `json:"verdict"`
	Errno   string    `json:"errno,omitempty"`
	Rule    string    `json:"rule"`
	Layer   string    `json:"layer"`
	Source  string    `json:"source,omitempty"`
	Reason  string    `json:"reason"`
	Hint    string    `json:"hint,omitempty"`
	Fix     string    `json:"fix,omitempty"`    // a flag that would allow it
	Refuse  string    `json:"refuse,omitempty"` // a flag that would refuse it
	YAML    string    `json:"yaml,omitempty"`   // the same for a policy file
	Chain   []whyStep `json:"chain"`
}

type whyStep struct {
	Step    int    `json:"step"`
	Name    string `json:"name"`
	Rule    string `json:"rule,omitempty"`
	Text    string `json:"text,omitempty"`
	Source  string `json:"source,omitempty"`
	Effect  string `json:"effect"`
	Access  string `json:"access,omitempty"`
	By      string `json:"by,omitempty"`
	Decides bool   `json:"decides,omitempty"`
}

var traceSeq = regexp.MustCompile(`^(.+):([0-9]+)$`)

// Run is called by kong. The status is 0 if all is allowed, 1 if something is refused.
func (c *whyCmd) Run() error {
	words, err := commandOf(os.Args, len(c.Words))
	if err != nil {
		return err
	}
	answers, err := c.answer(words)
	if err != nil {
		return err
	}
	refused := false
	for i, a := range answers {
		refused = refused || a.Verdict != rules.Allow.String()
		if err := c.print(os.Stdout, i > 0, a); err != nil {
			return fmt.Errorf("write: %w", err)
		}
	}
	if refused {
		return &statusError{code: 1}
	}
	return nil
}

func (c *whyCmd) answer(words []string) ([]whyAnswer, error) {
	if m := traceSeq.FindStringSubmatch(words[0]); m != nil && len(words) == 1 {
		if _, err := netip.ParseAddrPort(words[0]); err == nil && unix.Access(m[1], unix.F_OK) != nil {
			return nil, fmt.Errorf("why: %s is an address: ask for it with ptguard why connect %s, or bind", words[0], words[0])
		}
		a, err := c.ofTrace(m[1], m[2])
		return []whyAnswer{a}, err
	}
	if words[0] != "exec" {
		for _, w := range words[1:] {
			flag, _, _ := strings.Cut(w, "=")
			if flag == "-p" || slices.Contains(flagNames("why"), flag) {
				return nil, fmt.Errorf("%s: flags go before the access: ptguard why %s … %s (a file of that name is ./%s)", record.Escape(w), record.Escape(w), words[0], record.Escape(w))
			}
		}
	}
	q, err := c.inquire(runFacts{}, c.Scope)
	if err != nil {
		return nil, err
	}
	acts, err := parseAct(words, "", q.machine.home())
	if err != nil {
		return nil, &statusError{code: exitFailed, err: fmt.Errorf("why: %w", err)}
	}
	var out []whyAnswer
	for _, a := range acts {
		answers, bare, err := a.ask(q)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", record.Escape(strings.Join(record.MaskArgv(a.words), " ")), err)
		}
		out = append(out, whyOf(q.policy, a.words, answers, bare))
	}
	return out, nil
}

// home is the home that a ~ in an act means.
func (m *machine) home() string {
	if m.facts.EnvHome != "" {
		return m.facts.EnvHome
	}
	return m.facts.PasswdHome
}

// whyOf words the answers of one act.
func whyOf(p *rules.Policy, words []string, answers []tracer.Answer, bare unix.Errno) whyAnswer {
	out := whyAnswer{Asked: strings.Join(record.MaskArgv(words), " "), Verdict: rules.Allow.String()}
	worst := rules.Allow
	for i := range answers {
		o, d := explainOne(p, &answers[i].Request)
		out.Objects = append(out.Objects, o)
		if d.Verdict > worst {
			worst = d.Verdict
			out.Verdict = worst.String()
		}
	}
	if bare != 0 {
		out.Errno = unix.ErrnoName(bare)
	}
	return out
}

// maskWords hides secrets in the words of an act, as the trace does.
func maskWords(text string) string { return record.MaskText(text) }

// explainOne asks the policy once more, by the same function, for the way to its answer.
func explainOne(p *rules.Policy, r *rules.Request) (whyObject, rules.Decision) {
	d, steps := p.DecideExplained(r)
	e := p.Explain(r, d)
	o := whyObject{
		Access: d.Access.String(), Object: maskWords(objectName(r)), Verdict: d.Verdict.String(),
		Rule: e.Rule, Layer: e.Layer, Source: d.Rule.Source, Reason: e.Reason, Hint: e.Hint, Fix: maskWords(e.Fix),
	}
	o.YAML = maskWords(yamlOf(e.Fix))
	if d.Refused() {
		o.Errno = unix.ErrnoName(d.Errno)
	} else {
		o.Access = r.Access.String()
		o.Refuse = maskWords(p.Refusal(r))
	}
	for _, s := range steps {
		w := whyStep{Step: s.Order, Name: rules.StepName(s.Order), Effect: s.Effect.String(), Decides: s.Decides}
		if s.Rule != nil {
			w.Rule, w.Source, w.Text = s.Rule.Pos, s.Rule.Source, strings.TrimSpace(s.Rule.Verb+" "+s.Rule.Text)
		}
		if s.Access != 0 {
			w.Access = s.Access.String()
		}
		if s.By != nil {
			w.By = s.By.Pos
		}
		o.Chain = append(o.Chain, w)
	}
	return o, d
}

// objectName names what a request is about.
func objectName(r *rules.Request) string {
	var rec record.Record
	tracer.Describe(&rec, r, r.Access)
	if name := record.Object(&rec); name != "" {
		return name
	}
	return "an object without a name"
}

// fixLists are the lists of a policy file that the flags of a fix stand for.
var fixLists = sync.OnceValue(func() map[string][2]string {
	return map[string][2]string{
		"--read": {"files", "read"}, "--write": {"files", "write"}, "--allow-exec": {"exec", "allow"},
		"--connect": {"net", "connect"}, "--bind": {"net", "bind"},
	}
})

// fixWords reads the flags of a fix: pairs of flag and value. ok is false for one that is
// no such list.
func fixWords(fix string) (pairs [][2]string, ok bool) {
	words, err := shellquote.Split(fix)
	if err != nil || len(words) == 0 || len(words)%2 != 0 {
		return nil, false
	}
	for i := 0; i < len(words); i += 2 {
		if fixLists()[words[i]][0] == "" {
			return nil, false
		}
		pairs = append(pairs, [2]string{words[i], words[i+1]})
	}
	return pairs, true
}

// yamlOf writes a fix as a line of a policy file, "" if there is none.
func yamlOf(fix string) string {
	pairs, ok := fixWords(fix)
	if !ok {
		return ""
	}
	list := fixLists()[pairs[0][0]]
	var items []string
	for _, p := range pairs {
		items = append(items, yamlWord(p[1]))
	}
	return fmt.Sprintf("%s: { %s: [ %s ] }", list[0], list[1], strings.Join(items, ", "))
}

var plainYAML = regexp.MustCompile(`^(/|~/|\./)[A-Za-z0-9_./+-]*$`)

// yamlWord writes a word as YAML reads it back, in flow and in block lists.
func yamlWord(word string) string {
	if plainYAML.MatchString(word) {
		return word
	}
	text, err := json.Marshal(word) // every JSON string is one of YAML
	if err != nil {
		return `""`
	}
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(text))
}

func (c *whyCmd) print(w io.Writer, more bool, a whyAnswer) error {
	if c.JSON {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(a)
	}
	return printWhy(w, more, a)
}

var whyVerdicts = sync.OnceValue(func() map[string]string {
	return map[string]string{"allow": "allowed", "deny": "denied", "hide": "hidden", "ask": "asked about"}
})

func printWhy(out io.Writer, more bool, a whyAnswer) error {
	var b strings.Builder
	if more {
		b.WriteByte('\n')
	}
	line := func(indent, text string) { b.WriteString(indent + record.EscapeText(text) + "\n") }
	detail := func(key, text string) {
		if text != "" {
			line("  ", fmt.Sprintf("%-8s %s", key, text))
		}
	}
	if r := a.Record; r != nil {
		text := fmt.Sprintf("recorded: %s %s  %s[%d] %s, by %s", r.Verdict, record.Escape(strings.Join(r.Access, ",")+" "+record.Unescape(record.Object(r))), r.Comm, r.PID, r.Syscall, r.Rule)
		if r.Count > 0 {
			text += fmt.Sprintf(", %d× more", r.Count)
		}
		if r.Audit {
			text += " (an audit: not enforced)"
		}
		line("", text)
		detail("because", r.Reason)
		detail("allow", r.Fix)
	}
	if a.Note != "" {
		line("", "note: "+a.Note)
	}
	for _, o := range a.Objects {
		line("", fmt.Sprintf("%s  %s %s", whyVerdicts()[o.Verdict], o.Access, record.Escape(o.Object)))
		detail("by", o.Rule)
		detail("line", o.Source)
		detail("because", o.Reason)
		detail("allow", o.Fix)
		detail("or", o.YAML)
		detail("refuse", o.Refuse)
		detail("hint", o.Hint)
		b.WriteString("  looked at\n")
		for _, s := range o.Chain {
			line("    ", stepLine(s))
		}
	}
	if a.Errno != "" {
		fmt.Fprintf(&b, "today the kernel itself answers %s, so a run would refuse nothing\n", a.Errno)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func stepLine(s whyStep) string {
	text := fmt.Sprintf("%2d %-33s ", s.Step, s.Name)
	switch {
	case s.Effect == "nothing" && s.Rule != "":
		return text + s.Rule + " grants nothing of it"
	case s.Effect == "nothing":
		return text + "none"
	}
	rule := s.Rule
	if !strings.Contains(rule, s.Text) && !strings.HasPrefix(rule, "mode ") && !strings.HasPrefix(rule, "guard ") && !strings.HasPrefix(rule, "builtin ") && !strings.HasPrefix(rule, "preset ") {
		rule += " (" + s.Text + ")"
	}
	switch {
	case s.Effect == "lifted":
		text += fmt.Sprintf("%s is lifted for %s by %s", rule, s.Access, s.By)
	case s.Effect == "exempts":
		text += rule + " does not hold for what the tree made"
	case s.Access == "":
		text += fmt.Sprintf("%s covers it, but not this access", rule)
	default:
		text += fmt.Sprintf("%s %s %s", rule, s.Effect, s.Access)
	}
	if s.Decides {
		text += "  <- decides"
	}
	return text
}

// ofTrace explains one record: what was recorded, and what the policy says. Without policy
// flags the policy is made again from what the start record tells.
func (c *whyCmd) ofTrace(file, seq string) (whyAnswer, error) {
	start, rec, err := findRecord(file, seq)
	if err != nil {
		return whyAnswer{}, err
	}
	a := whyAnswer{Asked: record.Escape(file) + ":" + seq, Record: rec, Verdict: "allow"}
	if v := rec.Verdict; v != "" && v != "allow" && v != "ask-allow" {
		a.Verdict = v
	}
	request, ok := tracer.RequestOf(rec)
	if !ok {
		if rec.Verdict == "" {
			return a, fmt.Errorf("%s: record %s is of kind %s: nothing was decided there", record.Escape(file), seq, rec.Kind)
		}
		a.Note = "no policy was asked: the call itself is refused"
		return a, nil
	}
	if argvLost(rec) {
		a.Note = "it repeats a record that is not in the trace, which has the arguments: no policy is asked"
		return a, nil
	}
	trace := file // absolute, for the policy is bound in the folder of the run
	if here, err := os.Getwd(); err == nil {
		trace = absolute(here, file)
	}
	q, err := c.policyOf(start, trace, c.Scope)
	scope := c.Scope
	if err == nil && scope == "" && q.scopes.Named(rec.Scope) != nil {
		scope = rec.Scope
		q, err = c.policyOf(start, trace, scope)
	}
	if err != nil {
		a.Note = "the policy cannot be made again, so only the record is shown: " + err.Error()
		return a, nil
	}
	request.Scope = scope
	o, _ := explainOne(q.policy, &request)
	a.Objects, a.Verdict = []whyObject{o}, o.Verdict
	switch {
	case start == nil:
		a.Note = "the trace has no start record: the policy of the flags is asked"
	case scope == "" && rec.Scope != "" && rec.Scope != rules.ScopeNone:
		a.Note = "it was decided in scope " + rec.Scope + ", which this policy does not have; below is what it says outside of scopes"
	case start.Start.PolicyDigest != q.digest || !slices.Equal(start.Start.Scopes, scopeDigests(q.scopes)):
		a.Note = "this is not the policy of that run (its files have changed, or --env or the environment is another); below is what it says"
	}
	return a, nil
}

// findRecord looks for a record by its number; the last run of the file that has it counts,
// with its start record (nil if that is missing).
func findRecord(file, seq string) (start, found *record.Record, err error) {
	var now *record.Record
	var firsts record.Firsts
	_, err = readTrace(file, os.Stderr, func(_ *record.Reader, rec *record.Record) error {
		firsts.Meet(rec)
		if rec.Kind != record.KindStart && strconv.FormatUint(rec.Seq, 10) != seq {
			return nil
		}
		one := *rec
		if rec.Kind == record.KindStart {
			now = &one
		}
		if strconv.FormatUint(rec.Seq, 10) == seq {
			found, start = &one, nil
			if now != nil && now.Run == rec.Run {
				start = now
			}
		}
		return nil
	})
	if err == nil && found == nil {
		err = fmt.Errorf("%s has no record %s", record.Escape(file), seq)
	}
	return start, found, err
}

// given tells whether any policy flag was given.
func (f *policyFlags) given() bool { return len(f.words()) > 0 }

// policyOf binds the policy of the flags, or, if there are none, that of a start record.
// trace is its file, which the tree could not change; scope is the one to ask about.
func (f *policyFlags) policyOf(start *record.Record, trace, scope string) (*inquiry, error) {
	run := runFacts{}
	if here, err := os.Getwd(); err == nil {
		trace = absolute(here, trace)
	}
	flags := *f
	if start != nil && start.Start != nil {
		if len(start.Start.Command) > 0 {
			run.program = record.Unescape(start.Start.Command[0])
		}
		run.tmp = record.Unescape(start.Start.Tmp)
		cwd := record.Unescape(start.Start.Cwd)
		if !f.given() {
			flags, run.scope = policyFlags{}, start.Start.Scope
			if err := flags.parse(start.Start.Flags); err != nil {
				return nil, err
			}
			if cwd != "" {
				if err := os.Chdir(cwd); err != nil {
					return nil, fmt.Errorf("its folder %s: %w", start.Start.Cwd, errnoOf(err))
				}
			}
		}
		if flags.Work == "" {
			flags.Work = record.Unescape(start.Start.Work)
		}
	}
	run.own = []string{trace}
	return flags.inquire(run, scope)
}

// parse is the inverse of words.
func (f *policyFlags) parse(words []string) error {
	lists := map[string]*[]string{
		"--policy": &f.Policy, "--preset": &f.Preset, "--read": &f.Read, "--write": &f.Write, "--deny": &f.Deny, "--hide": &f.Hide,
		"--allow-exec": &f.AllowExec, "--deny-exec": &f.DenyExec, "--connect": &f.Connect, "--bind": &f.Bind, "--deny-net": &f.DenyNet, "--seals": &f.Seals,
	}
	for _, word := range words {
		name, value, _ := strings.Cut(record.Unescape(word), "=")
		switch {
		case name == "--mode":
			f.Mode = value
		case name == "--work":
			f.Work = value
		case name == "--ask":
			f.Ask = value
		case name == "--fence":
			f.Fence = &value
		case name == "--no-exec":
			f.NoExec = true
		case name == "--hardened":
			f.Hardened = true
		case name == "--no-hardened":
			f.NoHardened = true
		case lists[name] != nil:
			*lists[name] = append(*lists[name], value)
		default:
			return fmt.Errorf("the start record has the flag %s, which this version does not know", name)
		}
	}
	return nil
}
