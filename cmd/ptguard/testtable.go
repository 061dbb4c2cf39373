// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"

	"github.com/kballard/go-shellquote"
	"ptguard/record"
	"ptguard/rules"
)

// testCmd is "ptguard test FILE…": the test table of each policy, its key tests.
type testCmd struct {
	Policy []string `arg:"" placeholder:"POLICY" help:"Policy files whose tests are run, each by itself."`
	Work   string   `placeholder:"DIR" help:"Work folder to test against (default the policy's, else the current directory)."`
}

// Run is called by kong. One line a case; the status is 1 if any differs.
func (c *testCmd) Run() error {
	differ := 0
	for _, name := range c.Policy {
		n, err := c.test(name)
		if err != nil {
			return err
		}
		differ += n
	}
	if differ > 0 {
		return &statusError{code: 1}
	}
	return nil
}

func (c *testCmd) test(name string) (differ int, err error) {
	source, err := readPolicy(name)
	if err != nil {
		return 0, err
	}
	cases := source.Tests()
	if len(cases) == 0 {
		return 0, &statusError{
			code: exitFailed, err: fmt.Errorf("%s has no tests", record.Escape(name)),
			hint: `add a list such as: tests: [ "allow read src/main.go", "deny exec git push" ]`,
		}
	}
	flags := policyFlags{Policy: []string{name}, Work: c.Work}
	q, err := flags.inquire(runFacts{}, "")
	if err != nil {
		return 0, err
	}
	for _, test := range cases {
		problem, err := test1(q, test)
		if err != nil {
			return 0, source.TestError(test, err)
		}
		word := "ok   "
		if problem != "" {
			word, problem = "FAIL ", ": "+problem
			differ++
		}
		fmt.Printf("%s%s  %s%s\n", word, record.EscapeText(test.Pos), record.EscapeText(maskWords(test.Text)), record.EscapeText(problem))
	}
	fmt.Printf("%s: %d cases, %d differ\n", record.Escape(name), len(cases), differ)
	return differ, nil
}

// checkTests finds the first case that cannot be read.
func checkTests(source *rules.Source, m *machine) error {
	for _, test := range source.Tests() {
		if _, _, err := parseTest(m, test); err != nil {
			return source.TestError(test, err)
		}
	}
	return nil
}

// parseTest reads one case.
func parseTest(m *machine, test rules.Test) (want string, acts []act, err error) {
	words, err := shellquote.Split(test.Text)
	if err != nil {
		return "", nil, err
	}
	if len(words) == 0 {
		return "", nil, errors.New("an empty case: want VERDICT ACCESS OBJECT…, such as: deny exec git push")
	}
	want = words[0]
	if want != rules.Allow.String() && want != rules.Deny.String() && want != rules.Hide.String() {
		return "", nil, fmt.Errorf("unknown verdict %s: want allow, deny or hide", record.Escape(want))
	}
	acts, err = parseAct(words[1:], m.facts.Work, m.home())
	var missing *statusError
	if errors.As(err, &missing) && words[1] == "exec" {
		// Not on this machine: the name alone is judged, as if it lay among the system's.
		acts, err = parseAct(append([]string{"exec", "/usr/bin/" + words[2]}, words[3:]...), "", "")
		if err == nil {
			acts[0].Argv[0] = words[2]
		}
	}
	if err != nil {
		return "", nil, err
	}
	return want, acts, nil
}

// test1 runs one case and says how the policy differs from it, "" if it does not.
func test1(q *inquiry, test rules.Test) (string, error) {
	want, acts, err := parseTest(q.machine, test)
	if err != nil {
		return "", err
	}
	for _, a := range acts {
		answers, _, err := a.ask(q)
		if err != nil {
			return "", err
		}
		w := whyOf(q.policy, a.words, answers, 0)
		if w.Verdict == want {
			continue
		}
		for _, o := range w.Objects {
			if o.Verdict == w.Verdict {
				return fmt.Sprintf("%s by %s: %s", whyVerdicts()[o.Verdict], o.Rule, o.Reason), nil
			}
		}
	}
	return "", nil
}
