// SPDX-License-Identifier: Apache-2.0

// Package ask carries a question to whoever may answer it: a person at the terminal, a
// command, or a server behind a unix socket. It decides nothing and knows no policy.
package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Answer is what was said.
type Answer string

// The answers.
const (
	No     Answer = "no"
	Once   Answer = "once"   // this call
	Run    Answer = "run"    // this run
	Always Answer = "always" // kept for later runs
)

// Choice is an answer that may be given.
type Choice struct {
	Answer Answer
	Text   string // what it would allow, for a person
}

// Question is one question.
type Question struct {
	// Text are the lines that a person reads, safe to print; Line the same for a program,
	// one JSON object and a newline.
	Text []string
	Line []byte
	// Choices are the answers that may be given; No is always one.
	Choices []Choice
	// Groups are the process groups of the tree, which may hold the terminal's foreground.
	Groups map[int]bool
}

// Reply is an answer with where it came from.
type Reply struct {
	Answer Answer
	// Peer is the process that answered, 0 if that is not known.
	Peer int
	// Signal is what the person typed instead of an answer (Ctrl-C, Ctrl-\), 0 if nothing;
	// it is meant for process group Group.
	Signal, Group int
}

// Asker puts questions. Ask returns when it has an answer, or soon after ctx is done; it is
// called for one question at a time.
type Asker interface {
	Ask(ctx context.Context, q *Question) (Reply, error)
	// Shared tells that the tree has hands on the same device, so it must stand still
	// while a question is open.
	Shared() bool
}

// maxAnswer is the longest line that is read as an answer.
const maxAnswer = 64 << 10

// parseLine reads the answer of a program: {"answer":"once"}.
func parseLine(line []byte, q *Question) (Answer, error) {
	var a struct {
		Answer Answer `json:"answer"`
	}
	if err := json.Unmarshal(line, &a); err != nil {
		return No, fmt.Errorf("not an answer: %w", err)
	}
	for _, c := range q.Choices {
		if c.Answer == a.Answer {
			return a.Answer, nil
		}
	}
	return No, fmt.Errorf("not an answer to this question: %q", a.Answer)
}

// readLine reads one line of bounded length; what follows is left alone.
func readLine(r io.Reader) ([]byte, error) {
	var line []byte
	buf := make([]byte, 4096)
	for len(line) < maxAnswer {
		n, err := r.Read(buf)
		line = append(line, buf[:n]...)
		if at := strings.IndexByte(string(line), '\n'); at >= 0 {
			return line[:at], nil
		}
		switch {
		case errors.Is(err, io.EOF) && len(line) > 0:
			return line, nil
		case errors.Is(err, io.EOF):
			return nil, errors.New("it ended without an answer")
		case err != nil:
			return nil, err
		}
	}
	return nil, fmt.Errorf("the answer is longer than %d bytes", maxAnswer)
}
