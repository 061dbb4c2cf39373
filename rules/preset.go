// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"ptguard/internal/policytext"
)

// Beside the texts lies what the reader makes of each, as Go data that needs no reading at a
// start (preset_data.go): with the YAML library a default run took 2 ms for its four files.
// A test compares the two.
//
//go:generate env PTGUARD_UPDATE=1 go test -count=1 -run ^TestPresetData$ .
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
	if indexOf(Presets(), name) < 0 {
		_, err := presetText(name)
		return nil, err
	}
	s, err := loadPreset(name, name)
	if err != nil || name == "open" {
		return s, err
	}
	lists := denyLists
	if indexOf(gitPresets, name) >= 0 {
		lists = append(append([]string{}, lists...), "git-config")
	}
	for _, list := range lists {
		l, err := loadPreset(name, list)
		if err != nil {
			return nil, err
		}
		s.lists = append(s.lists, l.specs)
	}
	return s, nil
}

// loadPreset gives an embedded file for the preset name, from the data. What it points to is
// shared by all that load it.
func loadPreset(name, file string) (*Source, error) {
	data := presetData(file)
	if data == nil {
		return nil, fmt.Errorf("internal: no data of the preset file %s", file)
	}
	s := newSource(name, LayerPreset)
	text := s.text
	*s = *data
	s.name, s.layer, s.text = name, LayerPreset, text
	shared := true
	for i := range s.specs {
		if sp := &s.specs[i]; sp.address.kind != addressIP || sp.kind != specConnect && sp.kind != specBind && sp.kind != specNetDeny {
			continue
		}
		if shared {
			s.specs, shared = slices.Clone(s.specs), false
		}
		// Data cannot hold what package netip makes.
		a, err := parseAddress(s.specs[i].text, false)
		if err != nil {
			return nil, err
		}
		s.specs[i].address = a
	}
	return s, nil
}

// DeniedPlaces are the literal places of the deny lists of presets, in the order in which
// Compile asks for them, for a caller that looks them up ahead.
func DeniedPlaces(homes []string) []string {
	var out []string
	for _, list := range denyLists {
		for i := range presetData(list).specs {
			for _, p := range presetData(list).specs[i].patterns {
				switch p.Anchor {
				case "/":
					out = append(out, "/"+strings.Join(p.Literal, "/"))
				case "~", "@home":
					for _, home := range homes {
						out = append(out, home+"/"+strings.Join(p.Literal, "/"))
					}
				}
			}
		}
	}
	return out
}

// presetLines gives a preset its text, for an error that shows a line of it.
func presetLines(t *policytext.Text, name string) {
	if text, err := presetText(name); err == nil {
		t.Of(text)
	}
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
