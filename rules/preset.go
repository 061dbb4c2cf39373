// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"embed"
	"fmt"
	"strings"
)

// Beside each text lies what the YAML reader gives for it, for reading YAML takes most of a
// millisecond a file. A test compares the two.
//
//go:generate env PTGUARD_UPDATE=1 go test -count=1 -run ^TestPresetTrees$ .
//go:embed presets/*.yaml presets/*.tree
var presetFiles embed.FS

// Presets are the presets of this version, mildest first.
func Presets() []string {
	return []string{"open", "permissive", "npm", "pip", "cargo", "go", "ci", "agent", "strict", "hermetic"}
}

// denyLists are kept once and stacked under every preset but open.
var denyLists = []string{"credentials", "self-modification", "control-sockets"}

// gitPresets also deny the settings of a repository that name programs.
var gitPresets = []string{"npm", "ci", "agent"}

// presetText gives the text of a preset or tells why there is none.
func presetText(name string) ([]byte, error) {
	if indexOf(Presets(), name) < 0 {
		return nil, &wordError{
			Msg:        fmt.Sprintf("unknown preset %q", name),
			Suggestion: likely(name, Presets(), strings.Join(Presets(), ", ")+"; a file is written ./"+name),
		}
	}
	return presetFiles.ReadFile("presets/" + name + ".yaml")
}

// Preset gives an embedded preset: one of Presets. An unknown name is an error.
func Preset(name string) (*Source, error) {
	if _, err := presetText(name); err != nil {
		return nil, err
	}
	s, err := readPreset(name, name, make([]spec, 0, 256))
	if err != nil {
		return nil, err
	}
	if name == "open" {
		return s, nil
	}
	lists := denyLists
	if indexOf(gitPresets, name) >= 0 {
		lists = append(append([]string{}, lists...), "git-config")
	}
	for _, list := range lists {
		l, err := readPreset(name, list, s.specs)
		if err != nil {
			return nil, err
		}
		s.specs = l.specs
	}
	return s, nil
}

// readPreset reads an embedded file for the preset name, whose rules go behind those of before.
func readPreset(name, file string, before []spec) (*Source, error) {
	text, err := presetFiles.ReadFile("presets/" + file + ".yaml")
	if err != nil {
		return nil, err
	}
	tree, err := presetFiles.ReadFile("presets/" + file + ".tree")
	if err != nil {
		return nil, err
	}
	s := newSource(name, LayerPreset)
	s.specs = before
	root, err := s.text.Tree(text, string(tree))
	if err != nil {
		return nil, err
	}
	return s, reader{s}.policy(root)
}

// PresetAbout is what a preset is for, in one line: the comment that its text begins with.
func PresetAbout(name string) (string, error) {
	text, err := presetText(name)
	if err != nil {
		return "", err
	}
	var words []string
	for line := range strings.Lines(string(text)) {
		comment, ok := strings.CutPrefix(strings.TrimSpace(line), "#")
		if !ok {
			break
		}
		words = append(words, strings.TrimSpace(comment))
	}
	return strings.Join(words, " "), nil
}
