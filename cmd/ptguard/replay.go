// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"ptguard/decode"
	"ptguard/record"
	"ptguard/rules"
	"ptguard/tracer"
)

// replayCmd is "ptguard replay TRACE --policy P".
type replayCmd struct {
	policyFlags
	JSON  bool   `name:"json" help:"Print one JSON object a change (default off)."`
	Trace string `arg:"" help:"Trace to ask again, plain or gzip; with --trace-level decisions it holds what was allowed too."`
}

// replayChange is one question that the other policy answers differently; the keys are
// those of --json.
type replayChange struct {
	Now     string `json:"now"`
	Was     string `json:"was"`
	Access  string `json:"access"`
	Object  string `json:"object"`
	By      string `json:"by"`
	WasBy   string `json:"was_by"`
	Reason  string `json:"reason"`
	Program string `json:"program"`
	Times   uint64 `json:"times"`
}

// Run is called by kong. The status is 1 if anything would change.
func (c *replayCmd) Run() error {
	q, records, err := c.load()
	if err != nil {
		return err
	}
	r := replay{policy: q.policy, scopes: q.scopes, changes: map[replayChange]uint64{}, made: map[string]bool{}, bound: map[uint16]bool{}}
	for i := range records {
		r.ask(&records[i])
	}
	if err := r.print(os.Stdout, os.Stderr, c.JSON); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	if len(r.order) > 0 {
		return &statusError{code: 1}
	}
	return nil
}

// load reads the trace and binds the policy of the flags to where the run was.
func (c *replayCmd) load() (*inquiry, []record.Record, error) {
	records, err := decisionsOf(c.Trace)
	if err != nil {
		return nil, nil, err
	}
	flags := c.policyFlags
	if !flags.given() {
		return nil, nil, errors.New("replay: which policy? usage: ptguard replay TRACE --policy P (or other policy flags)")
	}
	var start *record.Record
	for i := range records {
		if records[i].Kind == record.KindStart {
			start = &records[i]
		}
	}
	q, err := flags.policyOf(start, c.Trace, "")
	return q, records, err
}

// decisionsOf reads the records of a trace that hold a decision, and what frames a run.
// Lines that are no records are told and skipped.
func decisionsOf(file string) ([]record.Record, error) {
	var out []record.Record
	var firsts record.Firsts
	_, err := readTrace(file, os.Stderr, func(_ *record.Reader, rec *record.Record) error {
		if rec.Kind == record.KindStart || rec.Kind == record.KindDecision || rec.Kind.Refusal() {
			firsts.Meet(rec)
			out = append(out, *rec)
		}
		return nil
	})
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("%s holds no decision", record.Escape(file))
	}
	return out, err
}

// replay asks the questions of a trace again.
type replay struct {
	policy  *rules.Policy
	scopes  *rules.Scopes
	changes map[replayChange]uint64
	order   []replayChange

	asked, same, silent int
	scoped, cut         int  // not asked: in a scope that the policy does not have, without the arguments
	allowed             bool // the trace holds what was allowed
	// made and bound are what the tree made and bound in the run, as far as the trace tells.
	made  map[string]bool
	bound map[uint16]bool
}

// bareRule is the rule of a record of an act that fails on its names anyway.
const bareRule = "built-in bare errno"

func (r *replay) ask(rec *record.Record) {
	request, ok := tracer.RequestOf(rec)
	if rec.Kind == record.KindStart || rec.Rule == bareRule {
		return
	}
	if !ok {
		r.silent++
		return
	}
	policy := r.policy
	if rec.Scope != "" && rec.Scope != rules.ScopeNone {
		scope := r.scopes.Named(rec.Scope)
		if scope == nil {
			r.scoped++
			return
		}
		policy, request.Scope = scope.Policy, rec.Scope
	}
	if argvLost(rec) {
		r.cut++
		return
	}
	refused := refusedVerdict(rec.Verdict)
	r.asked++
	r.allowed = r.allowed || !refused
	r.complete(&request)
	d := policy.Decide(&request)
	if !refused || rec.Audit {
		r.note(&request)
	}
	was := rec.Verdict
	if was == "kill" {
		was = rules.Deny.String()
	}
	now := d.Verdict.String()
	if now == was || !d.Refused() && !refused {
		r.same++
		return
	}
	change := replayChange{
		Now: now, Was: was, Access: request.Access.String(), Object: maskWords(objectName(&request)),
		By: d.Rule.Pos, WasBy: rec.Rule, Reason: policy.Explain(&request, d).Reason, Program: rec.Comm,
	}
	if r.changes[change] == 0 {
		r.order = append(r.order, change)
	}
	r.changes[change] += max(rec.Count, 1)
}

// argvLost tells whether a record of an exec lacks the arguments that a rule may go by: it
// stands for repetitions, and what they repeat is not in the trace.
func argvLost(rec *record.Record) bool {
	return rec.Count > 0 && len(rec.Argv) == 0 && slices.Contains(rec.Access, decode.Exec.String())
}

// refusedVerdict tells whether a record's verdict refuses.
func refusedVerdict(word string) bool {
	return word != "" && word != "allow" && word != "ask-allow"
}

// complete adds what the run found out only where the policy asked for it, as far as the
// records before this one tell.
func (r *replay) complete(q *rules.Request) {
	for name := q.File.Path; len(name) > 1; name = path.Dir(name) {
		if r.made[name] {
			q.File.Made = true
			break
		}
	}
	if q.Access == decode.Connect && r.bound[q.Addr.Port] && q.Addr.IP.IsValid() && (q.Addr.IP.IsLoopback() || q.Addr.IP.IsUnspecified()) {
		q.Addr.Tree = true
	}
	if strings.HasPrefix(q.File.Path, "/dev/pts/") {
		q.File.OwnPTY = true
	}
}

// note books what an act that took effect made.
func (r *replay) note(q *rules.Request) {
	switch {
	case q.Act == rules.ActMkdir, q.Access == decode.Bind && q.File.Path != "":
		r.made[q.File.Path] = true
	case q.Access == decode.Bind && q.Addr.IP.IsValid():
		r.bound[q.Addr.Port] = true
	}
}

func (r *replay) print(out, errs io.Writer, asJSON bool) error {
	counts := map[string]int{}
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for _, c := range r.order {
		times := r.changes[c]
		c.Times = times
		counts[c.Now]++
		if asJSON {
			if err := enc.Encode(c); err != nil {
				return err
			}
			continue
		}
		if _, err := fmt.Fprintf(out, "now %s  %s %s   was %s by %s   by %s: %s   %s, %d×\n", whyVerdicts()[c.Now], c.Access, record.Escape(c.Object),
			whyVerdicts()[c.Was], record.EscapeText(c.WasBy), record.EscapeText(c.By), record.EscapeText(c.Reason), record.Escape(c.Program), times); err != nil {
			return err
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "ptguard: %d questions: %d answered the same; of %d that differ %d are allowed now, %d denied, %d hidden\n", r.asked, r.same, len(r.order),
		counts["allow"], counts["deny"], counts["hide"])
	if r.silent > 0 {
		fmt.Fprintf(&b, "ptguard: %d records hold no question: guards refuse those calls whatever the policy\n", r.silent)
	}
	if r.scoped > 0 {
		fmt.Fprintf(&b, "ptguard: %d records were decided in a scope that this policy does not have: not asked\n", r.scoped)
	}
	if r.cut > 0 {
		fmt.Fprintf(&b, "ptguard: %d records repeat one that is not in the trace, which has their arguments: not asked\n", r.cut)
	}
	if !r.allowed && r.asked > 0 {
		b.WriteString("ptguard: the trace holds refusals only; what would be refused newly shows with run --trace-level decisions\n")
	}
	_, err := io.WriteString(errs, b.String())
	return err
}
