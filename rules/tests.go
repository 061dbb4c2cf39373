// SPDX-License-Identifier: Apache-2.0

package rules

import "github.com/goccy/go-yaml/ast"

// Test is one case of a policy's test table, as written: VERDICT ACCESS OBJECT…. What the
// words mean is for whoever runs it.
type Test struct {
	Text string
	Pos  string // "policy.yaml:20:5"
	at   place
}

// Tests are the cases under the key tests of this very source.
func (s *Source) Tests() []Test { return append([]Test(nil), s.tests...) }

// TestError gives an error in a case its place.
func (s *Source) TestError(t Test, err error) error { return s.fail(t.at, err) }

func (r reader) test(n ast.Node) error {
	text, err := r.text(n)
	if err != nil {
		return err
	}
	at := nodePlace(n)
	r.s.tests = append(r.s.tests, Test{Text: text, Pos: r.s.posOf(at, text), at: at})
	return nil
}
