// SPDX-License-Identifier: Apache-2.0

package policytext

import (
	"errors"
	"fmt"
	"strings"
)

// Text is one file as its author wrote it, for messages that show the place of a mistake.
type Text struct {
	Name  string // in messages and positions
	What  string // what the file is: policy, seal file
	First string // the line it has to begin with
	lines []string
}

// Of gives a text that was not parsed its lines, for Fail and Line.
func (t *Text) Of(text []byte) { t.lines = strings.Split(string(text), "\n") }

// Place is a position in a Text; Line 0 is "no line" (flags).
type Place struct {
	Line, Col int
	Flag      string // the flag that a word came with, instead of a line
}

// PosError is a mistake in a file or flag with its place.
type PosError struct {
	File       string // the file's name, "preset NAME", or the flag
	Line, Col  int    // from 1; 0 if the place has none
	SourceLine string
	Msg        string
	Suggestion string
}

// Error gives several lines: file, place and message, then the source line with a caret
// under the faulty word.
func (e *PosError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Col)
	}
	b.WriteString(": " + e.Msg)
	if e.Suggestion != "" {
		b.WriteString(" (" + e.Suggestion + ")")
	}
	if e.Line > 0 && e.SourceLine != "" {
		line, col := clip(e.SourceLine, e.Col)
		number := fmt.Sprint(e.Line)
		fmt.Fprintf(&b, "\n  %s | %s", number, line)
		fmt.Fprintf(&b, "\n  %s | %s^", strings.Repeat(" ", len(number)), strings.Repeat(" ", col-1))
	}
	return b.String()
}

// clip makes a source line printable and short enough for a terminal; col moves along.
func clip(line string, col int) (string, int) {
	const width = 120
	runes := []rune(strings.ReplaceAll(strings.TrimRight(line, "\r"), "\t", " "))
	for i, r := range runes {
		if r < 0x20 || r == 0x7f || 0x80 <= r && r < 0xa0 || r == 0xfffd {
			runes[i] = '?'
		}
	}
	col = max(1, min(col, len(runes)+1))
	if len(runes) <= width {
		return string(runes), col
	}
	start := max(0, min(col-width/2, len(runes)-width))
	return string(runes[start : start+width]), col - start
}

// Fail makes the error for a word at a place of the text.
func (t *Text) Fail(at Place, err error) *PosError {
	e := &PosError{File: t.Name, Line: at.Line, Col: at.Col, Msg: err.Error()}
	if at.Flag != "" {
		e.File = at.Flag
	}
	w := &WordError{}
	if errors.As(err, &w) {
		e.Msg, e.Suggestion = w.Msg, w.Suggestion
	}
	if at.Line > 0 && at.Line <= len(t.lines) {
		e.SourceLine = t.lines[at.Line-1]
	}
	return e
}

// Line is the line at a place, printable and short enough for a terminal; "" if the place
// has none.
func (t *Text) Line(at Place) string {
	if at.Line <= 0 || at.Line > len(t.lines) {
		return ""
	}
	line, _ := clip(strings.TrimSpace(t.lines[at.Line-1]), at.Col)
	return line
}

// Pos words a place of the text, as records print it.
func (t *Text) Pos(at Place) string { return fmt.Sprintf("%s:%d:%d", t.Name, at.Line, at.Col) }
