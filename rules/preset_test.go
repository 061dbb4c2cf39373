// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"ptguard/internal/policytext"
)

// TestPresetTrees: what is embedded of each preset's tree is what the YAML reader gives for
// the text that is embedded beside it, and makes the same Source. PTGUARD_UPDATE writes it.
func TestPresetTrees(t *testing.T) {
	files, err := presetFiles.ReadDir("presets")
	if err != nil {
		t.Fatal(err)
	}
	texts := 0
	for _, f := range files {
		name, yaml := strings.CutSuffix(f.Name(), ".yaml")
		if !yaml {
			continue
		}
		texts++
		text, err := os.ReadFile("presets/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		parsed := policytext.Text{Name: name}
		root, err := parsed.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		want, err := policytext.EncodeTree(root)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if os.Getenv("PTGUARD_UPDATE") != "" {
			if err := os.WriteFile("presets/"+name+".tree", []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got, err := presetFiles.ReadFile("presets/" + name + ".tree"); err != nil || string(got) != want {
			t.Errorf("%s: the tree is not that of the text (%v): run go generate ./rules", name, err)
			continue
		}
		fromText, err := read(name, LayerPreset, text)
		if err != nil {
			t.Fatal(err)
		}
		fromTree, err := readPreset(name, name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(fromText, fromTree) {
			t.Errorf("%s: the tree makes another policy than the text:\n%+v\n%+v", name, fromTree, fromText)
		}
		// It is there to be cheap: reading YAML allocates far more.
		parse := testing.AllocsPerRun(3, func() { _, _ = (&policytext.Text{}).Parse(text) })
		tree := testing.AllocsPerRun(3, func() { _, _ = (&policytext.Text{}).Tree(text, want) })
		if tree > parse/5 {
			t.Errorf("%s: %v allocations for the tree, %v for the text", name, tree, parse)
		}
	}
	if texts < len(Presets()) {
		t.Errorf("%d texts for %d presets", texts, len(Presets()))
	}
}

// TestBadTrees: a tree that is no tree is an error.
func TestBadTrees(t *testing.T) {
	good, err := presetFiles.ReadFile("presets/strict.tree")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(good), "\n")
	for i := range lines {
		for _, bad := range []string{
			strings.Join(lines[:i], ""), // cut off
			strings.Join(lines[:i], "") + "x 1 1 y\n" + strings.Join(lines[i:], ""), // an unknown one
		} {
			if i == len(lines)-1 && bad == string(good) {
				continue
			}
			if _, err := (&policytext.Text{}).Tree(nil, bad); err == nil {
				t.Errorf("line %d: a damaged tree is read", i)
			}
		}
	}
}
