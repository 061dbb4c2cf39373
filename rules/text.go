// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"github.com/goccy/go-yaml/ast"

	"ptguard/internal/policytext"
)

// The short names of what policy files share with seal files (internal/policytext).
type (
	pattern   = policytext.Pattern
	place     = policytext.Place
	wordError = policytext.WordError
)

// PosError is a mistake in a policy with its place.
type PosError = policytext.PosError

func parsePattern(text string, flag bool) ([]pattern, error) {
	return policytext.ParsePattern(text, flag)
}

func parseComponent(c string) (literal string, wild bool, err error) {
	return policytext.ParseComponent(c)
}

func checkPathText(text string) error               { return policytext.CheckPath(text) }
func matchSegments(segs []string, rest string) bool { return policytext.MatchSegments(segs, rest) }
func matchComponent(pat, name string) bool          { return policytext.MatchComponent(pat, name) }
func cutComponent(path string) (name, rest string)  { return policytext.CutComponent(path) }
func contains(dir, path string) bool                { return policytext.Contains(dir, path) }
func likely(word string, known []string, all string) string {
	return policytext.Likely(word, known, all)
}

// fail makes the error for a word at a place of the source.
func (s *Source) fail(at place, err error) *PosError {
	if s.layer == LayerPreset {
		presetLines(&s.text, s.name)
	}
	return s.text.Fail(at, err)
}

func indexOf(list []string, word string) int {
	for i, w := range list {
		if w == word {
			return i
		}
	}
	return -1
}

// reader walks the tree of one policy.
type reader struct{ s *Source }

// key is a word that may stand in a mapping; read is nil for one that the format has and
// this version does not enforce.
type key struct {
	name string
	read func(ast.Node) error
}

func (r reader) yaml() policytext.Reader { return policytext.Reader{T: &r.s.text} }

func (r reader) fail(n ast.Node, format string, args ...any) error {
	return r.yaml().Fail(n, format, args...)
}

func (r reader) mapping(n ast.Node, where string, keys []key) error {
	all := make([]policytext.Key, len(keys))
	for i, k := range keys {
		all[i] = policytext.Key{Name: k.name, Read: k.read}
	}
	return r.yaml().Mapping(n, where, all)
}

func (r reader) section(where string, keys []key) func(ast.Node) error {
	return func(n ast.Node) error { return r.mapping(n, where, keys) }
}

func (r reader) list(of string, item func(ast.Node) error) func(ast.Node) error {
	return r.yaml().List(of, item)
}

func (r reader) text(n ast.Node) (string, error)                       { return r.yaml().Text(n) }
func (r reader) path(n ast.Node, take func(string, place) error) error { return r.yaml().Path(n, take) }

func (r reader) paths(n ast.Node, take func(string, place) error) error {
	return r.yaml().Paths(n, take)
}

func nodePlace(n ast.Node) place { return policytext.NodePlace(n) }
func keyName(k ast.Node) string  { return policytext.KeyName(k) }
func show(n ast.Node) string     { return policytext.Show(n) }
