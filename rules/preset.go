// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed presets/*.yaml
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
	text, err := presetText(name)
	if err != nil {
		return nil, err
	}
	s, err := read(name, LayerPreset, text)
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
		text, err := presetFiles.ReadFile("presets/" + list + ".yaml")
		if err != nil {
			return nil, err
		}
		l, err := read(name, LayerPreset, text)
		if err != nil {
			return nil, err
		}
		s.specs = append(s.specs, l.specs...)
	}
	return s, nil
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
