// SPDX-License-Identifier: Apache-2.0

package bench

import (
	_ "embed" // the page's frame
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// pageFrame is docs/performance.md with marks where the figures go.
//
//go:embed performance.md.in
var pageFrame string

// Markdown writes the page docs/performance.md of a result; pictures is the folder of the
// plots as the page links to it, source the name of the result's file.
func (r *Result) Markdown(out io.Writer, pictures, source string) error {
	tables := &strings.Builder{}
	for _, l := range r.Loads {
		if l.Noisy() {
			continue
		}
		fmt.Fprintf(tables, "### %s\n\n%s.\n\n| %s |\n|%s\n", l.Name, upper(l.Text), strings.Join(columns, " | "), "---|"+strings.Repeat("---:|", len(columns)-1))
		failed := ""
		for _, row := range l.Rows() {
			if row.Series.Failed != "" {
				failed += fmt.Sprintf("\n`%s` failed: %s\n", row.Series.Variant, strings.ReplaceAll(row.Series.Failed, "|", "/"))
				continue
			}
			fmt.Fprintf(tables, "| %s |\n", strings.Join(row.cells(), " | "))
		}
		tables.WriteString(failed + "\n")
	}
	verdicts := &strings.Builder{}
	verdicts.WriteString("| target | limit | measured | |\n|---|---:|---:|---|\n")
	met, all := 0, r.Verdicts()
	for _, v := range all {
		state := "met"
		if !v.Met {
			state = "**missed** " + v.Off
		} else {
			met++
		}
		fmt.Fprintf(verdicts, "| %s | %s | %s | %s |\n", v.Text, v.Limit, v.Value, state)
	}
	fmt.Fprintf(verdicts, "\n%d of %d are met.\n", met, len(all))
	images := &strings.Builder{}
	for _, p := range r.plots(false, true) {
		fmt.Fprintf(images, "![%s](%s/%s)\n\n", p.title, pictures, p.file)
	}
	variants := &strings.Builder{}
	for _, v := range r.Variants {
		fmt.Fprintf(variants, "| `%s` | %s |\n", v.Name, v.Text)
	}
	left := &strings.Builder{}
	for _, x := range r.Missing {
		fmt.Fprintf(left, "- `%s` was left out: %s\n", x.What, x.Why)
	}
	if noisy := r.Noisy(); len(noisy) > 0 {
		fmt.Fprintf(left, "- bare runs varied too much, so nothing is told of: %s\n", strings.Join(noisy, ", "))
	}
	summary := r.summary()
	if text := r.NotWhole(); text != "" {
		summary += ". **" + upper(text) + "**"
	}
	_, err := strings.NewReplacer(
		"{{summary}}", summary, "{{source}}", source, "{{plots}}", strings.TrimSpace(images.String()), "{{targets}}", strings.TrimSpace(verdicts.String()),
		"{{variants}}", strings.TrimSpace(variants.String()), "{{left}}", strings.TrimSpace(left.String()), "{{tables}}", strings.TrimSpace(tables.String()),
		"{{limit}}", fmt.Sprintf("%.0f %%", 100*NoiseLimit),
	).WriteString(out, pageFrame)
	return err
}

// Page writes docs/performance.md and its plots below docs, from the newest result below
// results (their names are dates). It gives the names of the files, for a test that
// compares.
func Page(results, docs string) (written []string, err error) {
	names, err := filepath.Glob(filepath.Join(results, "*.json"))
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("no results in %s: %w", results, err)
	}
	source := names[len(names)-1]
	f, err := os.Open(source)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	const pictures = "performance"
	if err := os.MkdirAll(filepath.Join(docs, pictures), 0o755); err != nil {
		return nil, err
	}
	for _, p := range r.plots(false, true) {
		name := filepath.Join(pictures, p.file)
		if err := os.WriteFile(filepath.Join(docs, name), []byte(p.svg), 0o644); err != nil {
			return nil, err
		}
		written = append(written, name)
	}
	page := &strings.Builder{}
	if err := r.Markdown(page, pictures, filepath.Base(source)); err != nil {
		return nil, err
	}
	return append(written, "performance.md"), os.WriteFile(filepath.Join(docs, "performance.md"), []byte(page.String()), 0o644)
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
