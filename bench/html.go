// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"strings"
)

const pageStyle = `:root{--bg:#f5f6f8;--surface:#fff;--text:#1b1f24;--muted:#57606a;--line:#d5d9df;--bad:#b3261e;--ok:#1a7f37;color-scheme:light dark}
@media (prefers-color-scheme:dark){:root{--bg:#0e1318;--surface:#161c23;--text:#e6edf3;--muted:#9aa7b4;--line:#2c3641;--bad:#ff8f87;--ok:#6fd38a}}
*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--text);font:15px/1.5 system-ui,"Segoe UI","DejaVu Sans",sans-serif}
main{max-width:900px;margin:0 auto;padding:20px}h1{font-size:20px;font-weight:500}h2{font-size:16px;margin:26px 0 8px}h3{font-size:14px;margin:18px 0 4px}p{color:var(--muted);margin:4px 0 10px}
.card{background:var(--surface);border:1px solid var(--line);border-radius:10px;padding:10px 14px;margin:0 0 14px;overflow-x:auto}svg{max-width:100%;height:auto}
table{border-collapse:collapse;width:100%;font-size:13px;font-variant-numeric:tabular-nums}th{text-align:right;font-weight:500;color:var(--muted)}td{text-align:right}th,td{padding:3px 7px;border-top:1px solid var(--line);white-space:nowrap}
th:first-child,td:first-child{text-align:left}thead th{border-top:0}.bad{color:var(--bad);font-weight:600}.ok{color:var(--ok)}td.w{white-space:normal;text-align:left;overflow-wrap:anywhere}.noisy{color:var(--bad)}
`

// HTML writes one page that needs nothing else: no network, no script, no other file. Loads
// whose bare runs vary too much are named and left out; with force they are shown, marked.
func (r *Result) HTML(out io.Writer, force bool) error {
	style := pageStyle + plotStyle
	digest := sha256.Sum256([]byte(style))
	w := &strings.Builder{}
	e := html.EscapeString
	fmt.Fprintf(w, `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'">
<title>ptguard bench</title><style>%s</style></head><body><main>
<h1><b>ptguard</b> bench</h1><p>%s</p>
`, base64.StdEncoding.EncodeToString(digest[:]), style, e(r.summary()))
	if noisy := r.Noisy(); len(noisy) > 0 {
		text := "left out, for bare runs varied too much: "
		if force {
			text = "bare runs varied too much, so these figures mean little: "
		}
		fmt.Fprintf(w, "<p class=\"noisy\">%s%s</p>\n", text, e(strings.Join(noisy, ", ")))
	}
	if text := r.NotWhole(); text != "" {
		fmt.Fprintf(w, "<p class=\"noisy\">%s</p>\n", e(text))
	}
	for _, p := range r.plots(force, false) {
		fmt.Fprintf(w, "<div class=\"card\">%s</div>\n", p.svg)
	}
	if verdicts := r.Verdicts(); len(verdicts) > 0 {
		fmt.Fprint(w, "<h2>Targets</h2><div class=\"card\"><table><thead><tr><th>target</th><th>limit</th><th>measured</th><th></th></tr></thead><tbody>\n")
		for _, v := range verdicts {
			state := `<td class="ok">met</td>`
			if !v.Met {
				state = `<td class="bad">missed ` + e(v.Off) + `</td>`
			}
			fmt.Fprintf(w, "<tr><td>%s</td><td>%s</td><td>%s</td>%s</tr>\n", e(v.Text), e(v.Limit), e(v.Value), state)
		}
		fmt.Fprint(w, "</tbody></table></div>\n")
	}
	fmt.Fprint(w, "<h2>Loads</h2>\n")
	for _, l := range r.Loads {
		if l.Noisy() && !force {
			continue
		}
		mark := ""
		if l.Noisy() {
			mark = fmt.Sprintf(` <span class="noisy">bare runs vary by %.0f %%</span>`, 100*l.noise())
		}
		fmt.Fprintf(w, "<h3>%s</h3><p>%s%s</p><div class=\"card\"><table><thead><tr>", e(l.Name), e(l.Text), mark)
		for _, c := range columns {
			fmt.Fprintf(w, "<th>%s</th>", e(c))
		}
		fmt.Fprint(w, "</tr></thead><tbody>\n")
		for _, row := range l.Rows() {
			if row.Series.Failed != "" {
				fmt.Fprintf(w, "<tr><td>%s</td><td class=\"w\" colspan=\"%d\">failed: %s</td></tr>\n", e(row.Series.Variant), len(columns)-1, e(row.Series.Failed))
				continue
			}
			fmt.Fprint(w, "<tr>")
			for _, c := range row.cells() {
				fmt.Fprintf(w, "<td>%s</td>", e(c))
			}
			fmt.Fprint(w, "</tr>\n")
		}
		fmt.Fprint(w, "</tbody></table></div>\n")
	}
	fmt.Fprint(w, "<h2>Variants</h2><div class=\"card\"><table><tbody>\n")
	for _, v := range r.Variants {
		fmt.Fprintf(w, "<tr><td>%s</td><td class=\"w\">%s</td></tr>\n", e(v.Name), e(v.Text))
	}
	for _, x := range r.Missing {
		fmt.Fprintf(w, "<tr><td>%s</td><td class=\"w\">left out: %s</td></tr>\n", e(x.What), e(x.Why))
	}
	fmt.Fprint(w, "</tbody></table></div></main></body></html>\n")
	_, err := io.WriteString(out, w.String())
	return err
}

// summary is where and when it was measured.
func (r *Result) summary() string {
	m := r.Machine
	text := fmt.Sprintf("ptguard %s on Linux %s, %s, %d cpus (%s), uid %d, %s; %.0f s", r.Version, m.Kernel, m.Arch, m.CPUs, m.CPU, m.UID, r.Time, r.Seconds)
	if r.CPUs != "" {
		text += "; all kept to cpu " + r.CPUs
	}
	if m.Tier != "" {
		text += "; protection: " + m.Tier
	}
	return text
}
