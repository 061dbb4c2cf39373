// SPDX-License-Identifier: Apache-2.0

package seals

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"ptguard/internal/policytext"
)

// Read parses one seal file, strictly: what it does not know is a *policytext.PosError.
// name is used in messages and positions.
func Read(name string, text []byte) (*File, error) {
	sum := sha256.Sum256(text)
	f := &File{Name: name, Digest: hex.EncodeToString(sum[:])}
	r := reader{policytext.Reader{T: &policytext.Text{Name: name, What: "seal file", First: "ptguard-seals: 1"}}, f}
	root, err := r.T.Parse(text)
	if err != nil {
		return nil, err
	}
	if err := r.file(root); err != nil {
		return nil, err
	}
	for _, s := range f.Seals {
		s.Owner = f.Owner
	}
	return f, nil
}

type reader struct {
	policytext.Reader
	f *File
}

func (r reader) file(root ast.Node) error {
	version, list := false, false
	err := r.Mapping(root, "", []policytext.Key{
		{Name: "ptguard-seals", Read: func(n ast.Node) error {
			version = true
			if d, ok := n.(*policytext.Shape); ok {
				return d.Note(map[string]any{"const": 1})
			}
			if i, ok := n.(*ast.IntegerNode); !ok || i.GetToken().Value != "1" {
				return r.Fail(n, "ptguard-seals: %s is not a format this version reads: want 1", policytext.Show(n))
			}
			return nil
		}},
		{Name: "owner", Read: r.line(&r.f.Owner)},
		{Name: "seals", Read: func(n ast.Node) error {
			list = true
			return r.List("seals", r.seal)(n)
		}},
	})
	if d, ok := root.(*policytext.Shape); ok && err == nil {
		return d.Need("ptguard-seals", "owner", "seals")
	}
	missing := ""
	switch {
	case err != nil:
		return err
	case !version:
		missing = "ptguard-seals: 1"
	case r.f.Owner == "":
		missing = "owner: who to ask"
	case !list:
		missing = "seals: [ { path: …, letters: …, reason: … } ]"
	default:
		return nil
	}
	return r.T.Fail(policytext.NodePlace(root), &policytext.WordError{Msg: "the seal file lacks a line", Suggestion: "write: " + missing})
}

func (r reader) seal(n ast.Node) error {
	s := &Seal{Pos: r.T.Pos(policytext.NodePlace(n))}
	err := r.Mapping(n, "seals", []policytext.Key{
		{Name: "path", Read: func(n ast.Node) error { return r.Path(n, r.path(s)) }},
		{Name: "letters", Read: func(n ast.Node) error {
			if d, ok := n.(*policytext.Shape); ok {
				return d.Note(map[string]any{"type": "string", "pattern": "^[RWMC]{1,4}$"})
			}
			text, err := r.Text(n)
			if err != nil {
				return err
			}
			if s.Letters, err = ParseLetters(text); err != nil {
				return r.T.Fail(policytext.NodePlace(n), err)
			}
			return nil
		}},
		{Name: "reason", Read: r.line(&s.Reason)},
		{Name: "hint", Read: r.line(&s.Hint)},
	})
	if d, ok := n.(*policytext.Shape); ok && err == nil {
		return d.Need("path", "letters", "reason")
	}
	switch {
	case err != nil:
		return err
	case s.patterns == nil:
		return r.Fail(n, "a seal names its path:")
	case s.Letters == 0:
		return r.Fail(n, "a seal names its letters:")
	case s.Reason == "":
		return r.Fail(n, "a seal says its reason:")
	}
	r.f.Seals = append(r.f.Seals, s)
	return nil
}

// path reads a place that is the same for every run: the work folder and the current
// directory are the caller's choice, and a seal that moves with them could be dodged.
func (r reader) path(s *Seal) func(text string, at policytext.Place) error {
	return func(text string, at policytext.Place) error {
		patterns, err := policytext.ParsePattern(text, false)
		for _, p := range patterns {
			switch p.Anchor {
			case "/", "~", "@home":
			default:
				err = &policytext.WordError{Msg: "a seal holds wherever a run starts", Suggestion: "begin its path with /, ~/ or **/"}
			}
		}
		if err != nil {
			return r.T.Fail(at, err)
		}
		s.Path, s.patterns = text, patterns
		return nil
	}
}

// line reads one line of text that is not empty.
func (r reader) line(into *string) func(ast.Node) error {
	return func(n ast.Node) error {
		text, err := r.Text(n)
		if err != nil {
			return err
		}
		if text == "" || strings.ContainsAny(text, "\n\r\x1b") {
			return r.T.Fail(policytext.NodePlace(n), errors.New("this is one line of text"))
		}
		*into = text
		return nil
	}
}
