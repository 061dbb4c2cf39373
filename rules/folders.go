// SPDX-License-Identifier: Apache-2.0

package rules

import "strings"

// shared are the folders of home in which each tool has a folder of its own: beneath
// them that one is the smallest grant that helps, and never the shared folder itself.
var shared = map[string]bool{
	".cache": true, ".config": true, ".local": true, ".local/share": true, ".local/state": true, "go": true,
}

// toolFolders are what tools make beneath a shared folder that is not there yet: at that
// time only the program's name tells. The folders are those of the tools' manuals.
var toolFolders = map[string]map[string]string{
	".cache": {
		"bazel": "bazel", "ccache": "ccache", "deno": "deno", "go": "go-build", "golangci-lint": "golangci-lint", "gopls": "gopls",
		"pip": "pip", "pip3": "pip", "pnpm": "pnpm", "poetry": "pypoetry", "ruff": "ruff", "uv": "uv", "yarn": "yarn",
	},
	".config":      {"gh": "gh", "git": "git", "go": "go", "pip": "pip", "pip3": "pip", "pnpm": "pnpm", "uv": "uv", "yarn": "yarn"},
	".local/share": {"pnpm": "pnpm", "uv": "uv"},
	"go":           {"go": "pkg"},
}

// toolFolder widens a path in a tool's folder beneath home to that folder (~/.npm,
// ~/.cache/pip, ~/go/pkg): a cache is refused file by file, and granting one file helps
// nobody. comm names the program, "" if unknown.
func (p *Policy) toolFolder(path, comm string) string {
	if parent, _, found := strings.Cut(path, "/__pycache__/"); found {
		return parent + "/__pycache__" // the files in it have random names
	}
	home := p.home(path)
	if home == "" {
		return path
	}
	parts := strings.Split(strings.Trim(path[len(home):], "/"), "/")
	keep := 0
	for keep < len(parts) && shared[strings.Join(parts[:keep+1], "/")] {
		keep++
	}
	folder := strings.TrimSuffix(home, "/") + "/" + strings.Join(parts[:keep], "/")
	if keep == len(parts) {
		if name := toolFolders[strings.Join(parts, "/")][comm]; name != "" {
			return folder + "/" + name
		}
		return path
	}
	if keep == 0 && !strings.HasPrefix(parts[0], ".") || len(parts) <= keep+1 {
		return path // a file of its own
	}
	return strings.TrimSuffix(folder, "/") + "/" + parts[keep]
}
