// SPDX-License-Identifier: Apache-2.0

package record

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"
)

// Kinds are all kinds of record, Verdicts all verdicts.
var (
	Kinds    = []Kind{KindStart, KindDenial, KindDecision, KindGrant, KindAsk, KindSeal, KindScope, KindFence, KindExec, KindExit, KindWarning, KindEnd}
	Verdicts = []string{"allow", "deny", "hide", "ask", "ask-allow", "ask-deny", "kill"}
)

// Schema is the JSON Schema (draft 2020-12) of one line of a trace, made from Record. Fields
// that it does not name are allowed: a later ptguard adds some without changing v.
func Schema() ([]byte, error) {
	out, err := schemaOf(reflect.TypeFor[Record](), "")
	if err != nil {
		return nil, err
	}
	out["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	out["title"] = fmt.Sprintf("ptguard record, version %d: one line of a trace", Version)
	text, err := json.MarshalIndent(out, "", "  ")
	return append(text, '\n'), err
}

func schemaOf(t reflect.Type, name string) (map[string]any, error) {
	out := map[string]any{}
	switch {
	case t == reflect.TypeFor[time.Time]():
		out["type"], out["format"] = "string", "date-time"
	case t.Kind() == reflect.Pointer:
		return schemaOf(t.Elem(), name)
	case t.Kind() == reflect.Struct:
		properties, required := map[string]any{}, []string{}
		for f := range t.Fields() {
			key, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
			if key == "" || key == "-" {
				return nil, fmt.Errorf("schema: %s.%s has no JSON name", t.Name(), f.Name)
			}
			full := strings.TrimPrefix(name+"."+key, ".")
			p, err := schemaOf(f.Type, full)
			if err != nil {
				return nil, err
			}
			properties[key] = p
			if !strings.Contains(opts, "omitempty") {
				required = append(required, key)
			}
		}
		out["type"], out["properties"], out["required"] = "object", properties, required
	case t.Kind() == reflect.Slice, t.Kind() == reflect.Map:
		e, err := schemaOf(t.Elem(), name+"[]")
		if err != nil {
			return nil, err
		}
		if t.Kind() == reflect.Slice {
			out["type"], out["items"] = "array", e
		} else {
			out["type"], out["additionalProperties"] = "object", e
		}
	case t.Kind() == reflect.String:
		out["type"] = "string"
	case t.Kind() == reflect.Bool:
		out["type"] = "boolean"
	case t.Kind() == reflect.Uint64:
		out["type"], out["minimum"] = "integer", 0
	case t.Kind() == reflect.Int, t.Kind() == reflect.Int64:
		out["type"] = "integer"
	default:
		return nil, fmt.Errorf("schema: %s is of type %v, which has no words here", name, t)
	}
	switch name {
	case "v":
		out["const"] = Version
	case "kind":
		out["enum"] = Kinds
	case "verdict":
		out["enum"] = Verdicts
	case "access[]":
		out["enum"] = accessWords
	}
	if text := fieldWords()[name]; text != "" {
		out["description"] = text
	}
	return out, nil
}

// accessWords are those of package decode, which this package does not know;
// TestSchemaOfTraces of cmd/ptguard compares them.
var accessWords = []string{
	"look", "list", "read", "write", "create", "remove", "attr", "exec", "map",
	"connect", "bind", "reach", "copy",
}

// fieldWords say what a field is. TestSchemaDescribes finds the one that has no words.
var fieldWords = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"need": "All accesses of the request, where access is only the part that was decided.", "act": "What the access does not say: mkdir, mknod, symlink, rmdir, rename-source, rename-target, exchange, link-source, link-target.",
		"type": "What the object is: reg, dir, lnk, fifo, sock, chr, blk; absent; nameless (a pipe, socket, memfd or deleted file).", "device": "MAJOR:MINOR of a device node.",
		"held": "What a descriptor of the tree that names the object allows on it.", "names": "Links that were followed on the way.", "facts": "What else was known: made (by the tree), own, outsider or guard (whose /proc entry), program, loader, first, executable and others.",
		"proto": "tcp or udp.", "audit": "True if the refusal was not enforced (run --audit).",
		"start.cwd": "Current directory at the start.", "start.tmp": "The temp folder that the run made for itself.", "start.flags": "The policy's part of the command line, without variables.", "start.audit": "True if nothing is enforced (run --audit).",
		"v": "Version of this schema.", "run": "Id of the run; a file may hold several.", "seq": "Number within the run, from 1; a gap is a record that was lost.",
		"time": "RFC 3339 with nanoseconds, UTC.", "kind": "What the record tells.",
		"event": "PEP 578 audit event, where CPython has one.", "syscall": "The system call's name.",
		"pid": "Process.", "tid": "Thread.", "ppid": "Parent process.", "exe": "The executed file.", "comm": "The thread's name, which the program chooses.", "argv": "Arguments, secrets masked.",
		"scope": "user, api or none.",
		"path":  `The name as given; bytes that are not UTF-8 or not visible as \xNN, a backslash as \\.`, "resolved": "The canonical path of the object that the kernel would touch.",
		"access": "What the act needs.", "flags": "Flags of the call, by name.",
		"addr": "IP address, path of a unix socket, or @NAME.", "port": "Port.", "family": "Address family.",
		"verdict": "The answer.", "errno": "What a refused call returned.",
		"rule": "What decided: FILE:LINE:COLUMN, or the built-in's name.", "layer": "Where that rule is from.",
		"reason": "Why, in one sentence.", "hint": "What to do.", "fix": "The smallest flag or policy line that would allow it.", "agent": "What a program makes of a refusal: policy, do not retry; do this instead.",
		"count": "How many further refusals of this kind the record stands for; absent where it tells of one.", "took_us": "Microseconds that the decision took.", "stops": "Stops that the call took.",
		"ask": "Of a question to whoever answers (kind ask, never in a trace).", "ask.timeout_ms": "How long an answer may take, in milliseconds.", "ask.waiting": "How many calls wait for the answer.",
		"ask.answers": "What may be answered.", "ask.once": "What once would allow.", "ask.kept": "What run or always would allow; absent where that is too broad to be kept.",
		"start.fence": "The folder of the fence; '' for a fence without one, absent without a fence.", "start.ask": "Who is asked; absent if nobody.", "start.grants": "Answers kept from earlier runs.",
		"start": "Of the first record of a run.", "end": "Of the last record of a run.",

		"start.version": "ptguard's version.", "start.policy_digest": "Digest of all rules in force.", "start.seal_digests": "Digests of the seal files.", "start.tier": "The protection that is active.",
		"start.kernel": "Kernel release.", "start.command": "The command line, secrets masked.", "start.work": "The work folder.", "start.scopes": "The scopes, each with the digest of its policy.", "start.scope": "The scope that the program was started in.", "start.mode": "strict, permissive or open.", "start.lifted": "Preset denies that a file or flag lifted.",
		"end.status": "Exit status of the program.", "end.signal": "The signal it died of.", "end.stops": "Stops.", "end.decisions": "Decisions.", "end.denials": "Refusals, folded ones included.",
		"end.by_event": "Refusals by event, or system call where there is none.", "end.folded": "Refusals that went into a count.", "end.lost": "Records that could not be written.",
		"end.wall_ms": "Duration in milliseconds.", "end.tree_cpu_ms": "CPU time of the program and its children.", "end.own_cpu_ms": "CPU time of ptguard.",
	}
})
