// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"sync"

	"ptguard/internal/policytext"
)

// SchemaLine is the first line of a policy that ptguard writes: editors with a YAML
// language server then check and complete it, with what "ptguard schema policy" prints
// lying beside it under this name.
const SchemaLine = "# yaml-language-server: $schema=ptguard-policy.schema.json"

// Schema is the JSON Schema (draft 2020-12) of a policy file. It is not written down
// anywhere: the strict reader is asked, see policytext.Shape. So a key that the reader
// learns is in the schema, and one that it refuses is not. What is finer than a type or a
// word (where a path may begin, what an address is) the schema leaves to the reader.
func Schema() ([]byte, error) {
	r := reader{s: &Source{name: "schema"}}
	return policytext.Schema("ptguard policy, format 1", []string{"ptguard"}, r.policy, descriptions(), keyDescriptions())
}

// descriptions are what an editor shows for a key. TestSchemaDescribes finds the key that
// has none.
var descriptions = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"ptguard":  "The format version; 1. Required.",
		"extends":  "What this policy builds on: presets by name (see ptguard policy list), policy files by path, relative to this file.",
		"mode":     "What holds for acts that no rule names: strict reads system files, the work and temp folders only; permissive reads all but credentials; open refuses nothing but by guards.",
		"work":     "The work folder, readable and writable, where --work is not given.",
		"unlisted": "How an act that no rule allows is answered: deny is EPERM, hide is ENOENT.",

		"files":       "Rules about files and folders. A path begins with / ~/ ./ @work/ @tmp/ @home/ @runtime/ or **/, and means itself and all beneath.",
		"files.read":  "May be looked at, listed, read and mapped.",
		"files.write": "May be read and changed: write, create, remove, attr.",
		"files.deny":  "Refused with EPERM, ahead of every allow.",
		"files.hide":  "Answered as if it did not exist (ENOENT), in listings too.",

		"files.masks":          "Names that are masked wherever they lie.",
		"files.masks.dotfiles": "Mask names that begin with a dot, but for those that a rule names.",
		"files.masks.except":   "Dotfile names that are never masked. A list replaces the preset's.",

		"limits":            "What bounds the run. A limit that is hit is named.",
		"limits.processes":  "Processes of the tree at one time; beyond, fork gives EAGAIN.",
		"limits.memory":     "Resident and swapped memory of the tree, as in 4GiB; beyond, the tree is killed.",
		"limits.cpu":        "User and system time of the tree, as in 10m; beyond, the tree is killed.",
		"limits.wall":       "Time from the start, as in 30m; beyond, the tree is killed, exit 124.",
		"limits.open-files": "Open files of each process (RLIMIT_NOFILE).",
		"limits.file-size":  "Size of a file (RLIMIT_FSIZE), as in 1GiB.",
		"limits.core":       "Size of a core dump (RLIMIT_CORE); 0 for none.",

		"hardened": "Refuse rarely used calls, too (NUMA, kcmp, pidfd_getfd and the like).",

		"exec":       "Rules about programs.",
		"exec.allow": "Only these programs may be executed: path, glob, or memfd. One entry closes the list.",
		"exec.deny":  "These programs are refused: path, glob, or program: NAME with args. A guard rail: a copy of the program passes it.",

		"net":          "Rules about addresses: [tcp|udp] HOST:PORT, unix PATH, unix @NAME, @dns, @tree, @names, @preset.",
		"net.connect":  "Addresses that may be connected or sent to. Replaces the preset's list; @preset keeps it.",
		"net.bind":     "Addresses that may be bound. Replaces the preset's list; @preset keeps it.",
		"net.families": "The address families that sockets may have: unix, inet, inet6, netlink-route.",
		"net.deny":     "Addresses that are refused, ahead of every allow.",

		"ask":         "Ask somebody where nothing decides, instead of refusing.",
		"ask.fence":   "The one folder that is free, \"\" for none; makes the mode strict and takes @work and @tmp away.",
		"ask.via":     "tty (the controlling terminal), exec:CMD or unix:PATH (one JSON line each way).",
		"ask.timeout": "How long an answer may take, such as 60s; then it is no.",
		"scopes":      "Rules that hold for some tasks only, by the name of the scope: on top of all others, or, for user, alone.",

		"tests":    "The policy's own test table for ptguard test, one case a line: allow read src/main.go, deny exec git push.",
		"env":      "The environment that the program gets. drop takes away after pass, set comes last.",
		"env.pass": "Variables (globs) that are passed on in mode strict, besides the usual ones.",
		"env.set":  "Variables that are set.",
		"env.drop": "Variables (globs) that are taken away.",
	}
})

// keyDescriptions are those of the keys of a single rule, wherever it stands.
var keyDescriptions = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"enter":   "Programs whose execution enters the scope. They must not be writable for the run.",
		"path":    "The path, or several: each itself and all beneath.",
		"file":    "The path, or several: each that one object, not what is beneath it.",
		"access":  "The accesses that are refused; without it all but look.",
		"reason":  "One sentence for whoever is refused.",
		"hint":    "What to do instead.",
		"program": "A bare NAME (the base name), a path or a glob; an allow names the file.",
		"args":    "All arguments after the name; ** is any number of them.",
		"address": "The address, or several.",
	}
})
