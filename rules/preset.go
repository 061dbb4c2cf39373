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
func Presets() []string { return []string{"open", "permissive", "strict"} }

// laterPresets are those of POLICY.md that need what later versions enforce.
var laterPresets = []string{"hermetic", "agent", "npm", "pip", "cargo", "go", "ci"}

// denyLists are kept once and stacked under every preset but open.
var denyLists = []string{"credentials", "self-modification", "control-sockets"}

// presetText gives the text of a preset or tells why there is none.
func presetText(name string) ([]byte, error) {
	if indexOf(laterPresets, name) >= 0 {
		return nil, fmt.Errorf("preset %s is not supported by this version", name)
	}
	if indexOf(Presets(), name) < 0 {
		return nil, &wordError{
			Msg:        fmt.Sprintf("unknown preset %q", name),
			Suggestion: likely(name, Presets(), strings.Join(Presets(), ", ")+"; a file is written ./"+name),
		}
	}
	return presetFiles.ReadFile("presets/" + name + ".yaml")
}

// Preset gives an embedded preset: open, permissive or strict. The names of presets that
// come with later versions give an error that says so.
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
	for _, list := range denyLists {
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
