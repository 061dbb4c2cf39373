// SPDX-License-Identifier: Apache-2.0

package seals

import "ptguard/internal/policytext"

// Schema is the JSON Schema (draft 2020-12) of a seal file: what the strict reader says that
// it takes, see policytext.Shape.
func Schema() ([]byte, error) {
	r := reader{policytext.Reader{T: &policytext.Text{Name: "schema", What: "seal file"}}, &File{}}
	return policytext.Schema("ptguard seal file, format 1", []string{"ptguard-seals", "owner", "seals"}, r.file, map[string]string{
		"ptguard-seals": "The format version; 1.",
		"owner":         "Who seals, for people who ask why.",
		"seals":         "The sealed places. No mode, rule or grant opens them.",
	}, map[string]string{
		"path":    "Begins with /, ~/ or **/; itself and all beneath.",
		"letters": "R read, W change, M take away from here, C copy out of here.",
		"reason":  "One sentence for whoever is refused.",
		"hint":    "What to do instead.",
	})
}
