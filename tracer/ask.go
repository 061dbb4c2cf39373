// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"ptguard/internal/ask"
	"ptguard/record"
	"ptguard/rules"
)

// Questions: a call that the policy neither allows nor refuses stays in its stop while
// somebody is asked on another goroutine, and the loop goes on. After the answer the call is
// looked at as if it had just been made: resolved again, decided again, with what the answer
// grants, and carried out like any other. So nothing that changed meanwhile is covered by an
// answer that was about something else.

// maxQuestions is how many questions may be raised in a second; more are refused unasked.
const maxQuestions = 10

// Asking is how a run asks.
type Asking struct {
	// Asker is nil where nobody is to be asked.
	Asker   ask.Asker
	Timeout time.Duration
	// Kept are the grants of earlier runs.
	Kept []rules.Grant
	// Keep stores a grant for later runs. It is called on a goroutine and may block.
	Keep func(rules.Grant) error
	// Always is what is said of an answer that is kept: where it holds.
	Always string
}

// asking is the state of a run's questions. Tracer thread only.
type asking struct {
	grants rules.Answers
	open   *question   // the one that is being asked
	queue  []*question // those that wait for their turn
	raised []time.Time // the latest, at most maxQuestions
	told   bool        // somebody was told of too many
	cancel context.CancelFunc
	done   chan struct{} // closed when the asking goroutine of open has ended
}

// question is one question and the calls that wait for its answer.
type question struct {
	key      string
	request  rules.Request
	rules    rules.Question
	record   *record.Record
	choices  []ask.Choice
	waiting  []stopped
	withdraw bool // nobody waits any more
}

// answers is what a task remembers of the questions about the call at hand.
type answers struct {
	on   *question // it waits for the answer
	call call      // the call at hand, as it was made
	// once are the grants for this call; no are the questions about it that were answered
	// otherwise, by their keys, with what is to be said.
	once rules.Answers
	no   map[string]string
}

// raise raises a question about j. "" means that s waits for the answer; else the call is to
// be refused, and this is why nobody said yes.
func (l *loop) raise(s stopped, j *judgement) string {
	if l.cfg.Asking.Asker == nil || !l.started || l.dying.Load() {
		return "nobody can be asked"
	}
	a := &l.asking
	q := &question{rules: l.policyOf(s.task).Question(&j.request, j.decision), request: j.request}
	r := l.requestRecord(s, record.KindAsk, j.object, &j.request, j.decision)
	q.key = strings.Join([]string{r.Exe, r.Scope, q.rules.Verb, q.rules.Object}, "\x00")
	if why, ok := s.wait.no[q.key]; ok {
		return why
	}
	if a.open != nil && a.open.key == q.key && !a.open.withdraw {
		l.await(s, a.open)
		return ""
	}
	if i := slices.IndexFunc(a.queue, func(other *question) bool { return other.key == q.key }); i >= 0 {
		l.await(s, a.queue[i])
		return ""
	}
	if t, ok := l.cfg.Asking.Asker.(*ask.Terminal); ok {
		if err := t.Reachable(l.groups()); err != nil {
			return err.Error()
		}
	}
	if now := time.Now(); len(a.raised) < maxQuestions {
		a.raised = append(a.raised, now)
	} else if now.Sub(a.raised[0]) < time.Second {
		if !a.told {
			a.told = true
			l.cfg.Live.Note(fmt.Sprintf("more than %d questions a second: the others are refused unasked", maxQuestions))
		}
		return fmt.Sprintf("more than %d questions a second", maxQuestions)
	} else {
		a.raised = append(a.raised[1:], now)
	}
	if r.Argv == nil {
		_, _, _, r.Argv = identity(s.tid, s.proc.pid)
	}
	q.record, q.request.File.Spellings = r, slices.Clone(j.request.File.Spellings)
	q.request.Argv, q.request.Once, q.request.Grants = nil, nil, nil
	l.await(s, q)
	a.queue = append(a.queue, q)
	l.nextQuestion()
	return ""
}

func (l *loop) await(s stopped, q *question) {
	s.task.waits = "an answer"
	q.waiting = append(q.waiting, s)
	s.task.wait.on, s.task.wait.call = q, call{l.number, l.call.Args}
}

// groups are the process groups of the tree.
func (l *loop) groups() map[int]bool {
	out := map[int]bool{}
	for _, t := range l.tasks {
		if g, err := unix.Getpgid(t.proc.pid); err == nil {
			out[g] = true
		}
	}
	return out
}

// nextQuestion asks the oldest question, if none is open.
func (l *loop) nextQuestion() {
	a := &l.asking
	if a.open != nil || len(a.queue) == 0 || l.dying.Load() {
		return
	}
	a.open, a.queue = a.queue[0], a.queue[1:]
	if l.cfg.Asking.Asker.Shared() {
		l.freeze(l.putQuestion)
		return
	}
	l.putQuestion()
}

// putQuestion hands the open question to the asker.
func (l *loop) putQuestion() {
	a := &l.asking
	q := a.open
	if q == nil || q.withdraw || l.dying.Load() {
		l.answered(q, ask.Reply{Answer: ask.No}, context.Canceled)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), l.cfg.Asking.Timeout)
	a.cancel, a.done = cancel, make(chan struct{})
	q.choices = l.choices(q)
	put := &ask.Question{Text: q.text(), Line: l.askLine(q), Choices: q.choices, Groups: l.groups()}
	done := a.done
	go func() {
		defer close(done)
		reply, err := l.cfg.Asking.Asker.Ask(ctx, put)
		cancel()
		if err == nil && reply.Answer == ask.Always {
			if failed := l.keep(q); failed != nil {
				l.cfg.Live.Warn("the answer holds for this run only: " + failed.Error())
				reply.Answer = ask.Run
			}
		}
		l.postNow(func() { l.answered(q, reply, err) })
	}()
}

func (l *loop) keep(q *question) error {
	if l.cfg.Asking.Keep == nil {
		return errors.New("there is no approvals file")
	}
	g := q.rules.Kept
	g.Kind = rules.GrantAlways
	return l.cfg.Asking.Keep(g)
}

// choices are the answers to a question, in words.
func (l *loop) choices(q *question) []ask.Choice {
	out := []ask.Choice{{Answer: ask.Once, Text: "once: this call only"}}
	if !q.rules.Broad {
		kept := grantText(&q.rules.Kept)
		out = append(out, ask.Choice{Answer: ask.Run, Text: "run: " + kept + ", until this run ends"})
		if l.cfg.Asking.Keep != nil {
			out = append(out, ask.Choice{Answer: ask.Always, Text: "always: " + kept + ", " + l.cfg.Asking.Always})
		}
	}
	return append(out, ask.Choice{Answer: ask.No, Text: "no (so is Enter, or no answer in " + l.cfg.Asking.Timeout.String() + ")"})
}

// grantText says what a kept grant opens.
func grantText(g *rules.Grant) string {
	word, object, _ := strings.Cut(g.String(), " ")
	object = record.Escape(object)
	switch word {
	case "read":
		return "read " + object + " and all beneath"
	case "write":
		return "read and write " + object + " and all beneath"
	case "exec":
		return "read and execute " + object + " and all beneath"
	case "connect":
		return "connect to " + object
	}
	return word + " " + object
}

// text puts a question before a person.
func (q *question) text() []string {
	r := q.record
	comm := r.Comm
	if comm == "" {
		comm = path.Base(r.Exe)
	}
	first := fmt.Sprintf("%s[%d] asks to %s %s", record.Escape(comm), r.PID, q.rules.Verb, record.Escape(q.rules.Object))
	second := fmt.Sprintf("  %s   %s, %s", record.EscapeText(r.Reason), record.EscapeText(r.Rule), r.Syscall)
	if r.Scope != "" && r.Scope != "none" {
		second += ", scope " + record.EscapeText(r.Scope)
	}
	lines := []string{first, second}
	if exe := record.Escape(r.Exe); path.Base(r.Exe) != r.Comm {
		lines = append(lines, "  the program is "+exe)
	}
	if q.rules.Broad {
		lines = append(lines, "  "+record.Escape(q.rules.Kept.Path)+" is too broad to be opened as a whole")
	}
	return lines
}

// askLine puts a question to a program: a record of kind ask with the answers that may be
// given and what each would allow.
func (l *loop) askLine(q *question) []byte {
	r := *q.record
	r.Ask = &record.Ask{
		TimeoutMS: l.cfg.Asking.Timeout.Milliseconds(), Waiting: len(q.waiting),
		Once: record.Escape(q.rules.Once.String()),
	}
	if !q.rules.Broad {
		r.Ask.Kept = record.Escape(q.rules.Kept.String())
	}
	for _, c := range q.choices {
		r.Ask.Answers = append(r.Ask.Answers, string(c.Answer))
	}
	return l.cfg.Sink.Line(&r)
}

// answered takes the answer to a question and lets the calls that waited be looked at again.
func (l *loop) answered(q *question, reply ask.Reply, err error) {
	a := &l.asking
	a.open, a.cancel = nil, nil
	if owner := l.owner(reply.Peer); reply.Peer != 0 && (owner == rules.OwnerTree || owner == rules.OwnerScoped) {
		reply.Answer, err = ask.No, errors.New("the answer came from the program itself")
	}
	why := "the answer was no"
	var nobody *ask.ErrNobody
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		why = "no answer in " + l.cfg.Asking.Timeout.String()
	case errors.As(err, &nobody):
		why = nobody.Why
	case err != nil && !q.withdraw:
		why = "nobody could be asked: " + err.Error()
		l.cfg.Live.Warn("ask: " + err.Error())
	case reply.Signal != 0:
		why = "the question was interrupted"
	}
	if err != nil {
		reply.Answer = ask.No
	}
	l.give(q, reply.Answer, why)
	if reply.Signal != 0 {
		l.signalGroup(reply.Group, unix.Signal(reply.Signal))
	}
	if (err != nil || reply.Signal != 0) && !q.withdraw {
		// Nobody is there, or wants to be asked: those behind it need not wait as long again.
		for _, other := range a.queue {
			l.refuseQuestion(other, why)
		}
		a.queue = nil
	}
	if reply.Answer != ask.No && reply.Answer != ask.Once {
		l.settleQueue()
	}
	l.thaw()
	l.nextQuestion()
}

// give gives the calls that wait for q what the answer means for them.
func (l *loop) give(q *question, answer ask.Answer, why string) {
	if answer == ask.No {
		l.refuseQuestion(q, why)
		return
	}
	g := q.rules.Once
	if !q.rules.Broad && (answer == ask.Run || answer == ask.Always) {
		if g = q.rules.Kept; answer == ask.Always {
			g.Kind = rules.GrantAlways
		}
		l.asking.grants.Add(g)
	}
	r := *q.record
	r.Kind, r.Verdict, r.Errno = record.KindGrant, "ask-allow", ""
	r.Rule, r.Layer, r.Hint, r.Fix = "grant "+string(g.Kind)+": "+g.String(), string(rules.LayerGrant), "", ""
	r.Reason += "; the answer was " + string(g.Kind)
	l.cfg.Sink.Put(&r, nil)
	for _, s := range q.waiting {
		s.wait.on = nil
		if g.Kind == rules.GrantOnce {
			s.wait.once.Add(g)
		}
	}
	l.lookAgain(q.waiting)
}

// refuseQuestion has the calls that wait for q refused.
func (l *loop) refuseQuestion(q *question, why string) {
	for _, s := range q.waiting {
		s.wait.on = nil
		if s.wait.no == nil {
			s.task.wait.no = map[string]string{}
		}
		s.wait.no[q.key] = why
	}
	l.lookAgain(q.waiting)
}

// settleQueue takes out of the queue what the last answer has settled.
func (l *loop) settleQueue() {
	a := &l.asking
	var left []*question
	for _, q := range a.queue {
		r := q.request
		r.Grants = &a.grants
		policy := l.cfg.Policy
		if len(q.waiting) > 0 {
			policy = l.policyOf(q.waiting[0].task)
		}
		if policy.Decide(&r).Verdict == rules.Ask {
			left = append(left, q)
			continue
		}
		for _, s := range q.waiting {
			s.wait.on = nil
		}
		l.lookAgain(q.waiting)
	}
	a.queue = left
}

// withdraw takes a task that has gone out of the question it waited for. If nobody else
// waits, the prompt goes away.
func (l *loop) withdraw(t *task) {
	q := t.wait.on
	t.wait = answers{}
	if q == nil {
		return
	}
	q.waiting = slices.DeleteFunc(q.waiting, func(s stopped) bool { return s.task == t })
	if len(q.waiting) > 0 {
		return
	}
	a := &l.asking
	q.withdraw = true
	if a.open == q {
		if a.cancel != nil {
			a.cancel()
		}
		return
	}
	a.queue = slices.DeleteFunc(a.queue, func(other *question) bool { return other == q })
}

// refuseQuestions is for a run that is being interrupted: nobody waits for answers then.
func (l *loop) refuseQuestions() {
	a := &l.asking
	for _, q := range a.queue {
		l.refuseQuestion(q, "the question was interrupted")
	}
	a.queue = nil
	if q := a.open; q != nil && !q.withdraw {
		q.withdraw = true
		l.refuseQuestion(q, "the question was interrupted")
		q.waiting = nil
		if a.cancel != nil {
			a.cancel()
		}
	}
}

// endAsking takes the last prompt away when the run ends. It waits a moment, for the
// terminal to be put back.
func (l *loop) endAsking() {
	a := &l.asking
	if a.cancel == nil {
		return
	}
	a.cancel()
	select {
	case <-a.done:
	case <-time.After(time.Second):
	}
}

// signalGroup passes on what was typed at a prompt to the tree's members of the group that
// had the terminal.
func (l *loop) signalGroup(group int, sig unix.Signal) {
	seen := map[int]bool{}
	for _, t := range l.tasks {
		pid := t.proc.pid
		if g, err := unix.Getpgid(pid); err == nil && g == group && !seen[pid] {
			seen[pid] = true
			_ = unix.Kill(pid, sig)
		}
	}
}
