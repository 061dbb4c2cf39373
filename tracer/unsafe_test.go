// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// pinnedAddresses are the functions that may make an address of a pointer elsewhere than in
// the arguments of a system call, because what it names is pinned or a package variable.
var pinnedAddresses = []string{"pinnedAt", "residentPages", "stageAt", "zeroData", "play"}

// TestAddresses: a pointer becomes an address only in the arguments of a system call itself
// (unsafe.Pointer, rule 4). A Go stack moves when a call makes it grow, and the kernel would
// then write to where it was: a stop whose call was never read, an allowed one for all we
// knew. go vet does not look for this.
func TestAddresses(t *testing.T) {
	t.Parallel()
	found := 0
	files := token.NewFileSet()
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && entry.Name() == "vendor" {
			return fs.SkipDir // not ours
		}
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		tree, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		fine := map[ast.Expr]bool{}
		ast.Inspect(tree, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			name := calledName(call)
			if strings.Contains(name, "Syscall") || slices.Contains(pinnedAddresses, name) {
				for _, arg := range call.Args {
					fine[arg] = true
				}
			}
			if name == "uintptr" && isPointer(call.Args[0]) {
				found++
				if !fine[call] && !slices.Contains(pinnedAddresses, enclosing(tree, call)) {
					t.Errorf("%s: an address of a Go object outside the arguments of a system call", files.Position(call.Pos()))
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 20 {
		t.Errorf("only %d conversions were found: the test looks at the wrong place", found)
	}
}

func calledName(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// isPointer: unsafe.Pointer(x), a call that yields one, or a variable of that type, which by
// our custom is p or data.
func isPointer(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.CallExpr:
		name := calledName(e)
		return name == "Pointer" || name == "cstring"
	case *ast.Ident:
		return e.Name == "p" || e.Name == "data"
	}
	return false
}

// enclosing is the name of the function that n stands in.
func enclosing(tree *ast.File, n ast.Node) string {
	for _, d := range tree.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Pos() <= n.Pos() && n.End() <= f.End() {
			return f.Name.Name
		}
	}
	return ""
}
