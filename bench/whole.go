// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// wholeLoads are programs as people run them, on trees that are the same each time.
func wholeLoads(s size) []*load {
	return []*load{goBuild(), makeTree(s), gitLoad(), npmLoad(), pythonLoad(), grepLoad(s), shells(s), untar(s), httpServer()}
}

// script is the command of a load that is more than one program.
func script(g *ground, text string) []string { return []string{g.programs["sh"], "-c", text} }

// goBuild compiles a module that needs the standard library only, and with it all of that
// library which it uses: the cache is empty.
func goBuild() *load {
	const dir = "gomod"
	return &load{
		name: "go-build", text: "go build of a module on the standard library, cache empty", kind: KindWhole, needs: []string{"go"}, dir: dir,
		prepare: func(g *ground) error {
			root, err := goRoot(g)
			if err != nil {
				return err
			}
			// The go command beneath the root: the one in PATH may be a link or a wrapper.
			g.programs["go"] = filepath.Join(root, "bin", "go")
			g.env = append(g.env, "GOROOT="+root, "GOCACHE="+g.dir("gocache"), "GOPATH="+g.dir("gopath"), "GOTOOLCHAIN=local",
				"GOFLAGS=-mod=mod", "GOPROXY=off", "GOSUMDB=off", "CGO_ENABLED=0", "GOTELEMETRYDIR="+g.dir("telemetry"))
			// The go command counts its own use below $HOME unless this file says off.
			return writeTree(g.root, map[string]string{
				"home/.config/go/telemetry/mode": "off",
				"work/" + dir + "/go.mod":        "module example.org/bench\n\ngo 1.21\n",
				"work/" + dir + "/main.go":       goMain(g.size),
			})
		},
		before: func(g *ground, _ int) error {
			return errors.Join(os.RemoveAll(g.dir("gocache")), os.RemoveAll(g.dir(dir+"/out")))
		},
		argv:  func(g *ground, _ int) []string { return []string{g.programs["go"], "build", "-o", "out", "."} },
		check: func(g *ground) (string, error) { return runs(g, g.dir(dir+"/out")) },
		reads: func(g *ground) []string { return []string{g.memo["goroot"]} },
	}
}

func goMain(s size) string {
	if s == sizeTiny {
		return "package main\n\nfunc main() { println(\"built\") }\n"
	}
	return "package main\n\nimport (\n\t\"fmt\"\n\t\"os\"\n\t\"strings\"\n)\n\nfunc main() { fmt.Fprintln(os.Stderr, strings.ToLower(\"BUILT\")) }\n"
}

func goRoot(g *ground) (string, error) {
	if root := g.memo["goroot"]; root != "" {
		return root, nil
	}
	out, err := g.command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOROOT: %w", err)
	}
	root, err := filepath.EvalSymlinks(strings.TrimSpace(string(out)))
	g.memo["goroot"] = root
	return root, err
}

// runs gives what a program that was built says.
func runs(g *ground, program string) (string, error) {
	out, err := g.command(program).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// How much there is to do in each size.
var (
	cFiles   = [...]int{3, 40, 300}
	shellsOf = [...]int{3, 100, 300}
	tarFiles = [...]int{20, 400, 5000}
	grepped  = [...]string{"src/net/url", "src/net", "src"}
)

// makeTree compiles a tree of C files with two jobs at a time.
func makeTree(s size) *load {
	const dir = "ctree"
	return &load{
		name: "make", text: fmt.Sprintf("make -j2 of %d C files with gcc", cFiles[s]), kind: KindWhole, needs: []string{"make", "gcc"}, dir: dir,
		prepare: func(g *ground) error { return writeTree(g.dir(dir), cTree(cFiles[g.size])) },
		before: func(g *ground, _ int) error {
			objects, err := filepath.Glob(g.dir(dir + "/*.o"))
			for _, o := range append(objects, g.dir(dir+"/prog")) {
				if e := os.Remove(o); e != nil && !errors.Is(e, os.ErrNotExist) {
					err = e
				}
			}
			return err
		},
		argv:  func(g *ground, _ int) []string { return []string{g.programs["make"], "-s", "-j2"} },
		check: func(g *ground) (string, error) { return runs(g, g.dir(dir+"/prog")) },
		reads: func(*ground) []string { return []string{"/usr"} }, // headers
	}
}

// gitLoad clones, looks and packs.
func gitLoad() *load {
	return &load{
		name: "git", text: "git clone, status and gc of a repository", kind: KindWhole, needs: []string{"git", "sh"}, dir: "git",
		prepare: func(g *ground) error {
			g.env = append(g.env, "GIT_CONFIG_NOSYSTEM=1")
			return makeRepository(g, g.dir("git/src"), [...]int{5, 60, 300}[g.size], [...]int{2, 5, 20}[g.size])
		},
		before: func(g *ground, _ int) error { return os.RemoveAll(g.dir("git/dst")) },
		argv: func(g *ground, _ int) []string {
			return script(g, "git clone -q --no-local src dst && git -C dst status --porcelain && git -C dst gc -q")
		},
		check: func(g *ground) (string, error) {
			out, err := g.command(g.programs["git"], "-C", g.dir("git/dst"), "rev-parse", "HEAD").Output()
			return strings.TrimSpace(string(out)), err
		},
	}
}

// npmLoad packs one package and installs another, without a network.
func npmLoad() *load {
	const app, dep = "npm/app", "npm/dep"
	return &load{
		name: "npm", text: "npm pack, and npm install of a local tarball, offline", kind: KindWhole, needs: []string{"npm", "node", "sh"}, dir: app,
		prepare: func(g *ground) error {
			g.env = append(g.env, "npm_config_cache="+g.dir("npm/cache"), "npm_config_update_notifier=false", "npm_config_offline=true",
				"npm_config_audit=false", "npm_config_fund=false")
			files := npmTree([...]int{3, 40, 200}[g.size])
			if err := writeTree(g.dir("npm"), files); err != nil {
				return err
			}
			return writeTar(g.dir("npm/dep-1.0.0.tgz"), "package/", files, "dep/")
		},
		before: func(g *ground, _ int) error {
			return errors.Join(os.RemoveAll(g.dir(app+"/node_modules")), os.RemoveAll(g.dir(app+"/app-1.0.0.tgz")), os.RemoveAll(g.dir(app+"/package-lock.json")),
				os.RemoveAll(g.dir("npm/cache")), writeTree(g.dir("npm"), map[string]string{"app/package.json": npmApp}))
		},
		argv: func(g *ground, _ int) []string {
			return script(g, "npm pack --silent >/dev/null && npm install --silent --no-save ../dep-1.0.0.tgz")
		},
		check: func(g *ground) (string, error) { return countFiles(g.dir(app)) },
		reads: func(g *ground) []string { return homeOf(g, "node", "npm") },
	}
}

// pythonLoad starts Python and imports many modules.
func pythonLoad() *load {
	return &load{
		name: "python", text: "python3 importing packages of its library and of a tree of modules", kind: KindWhole, needs: []string{"python3"}, dir: "python",
		prepare: func(g *ground) error {
			// What is in PATH may be a wrapper that searches first.
			out, err := g.command(g.programs["python3"], "-c", "import sys; print(sys.executable, sys.base_prefix, sep='\\n')").Output()
			words := strings.Fields(string(out))
			if err != nil || len(words) != 2 {
				return fmt.Errorf("python3 does not say where it is: %w", err)
			}
			g.programs["python3"], g.memo["python"] = words[0], words[1]
			return writeTree(g.dir("python"), pythonTree([...]int{3, 80, 400}[g.size]))
		},
		argv: func(g *ground, _ int) []string {
			return []string{g.programs["python3"], "-B", "-s", "storm.py"}
		},
		check: func(g *ground) (string, error) {
			text, err := os.ReadFile(filepath.Join(g.root, "own", "output"))
			return strings.TrimSpace(string(text)), err
		},
		reads: func(g *ground) []string { return []string{g.memo["python"]} },
	}
}

// grepLoad reads Go's own source, which is a tree that is there wherever Go is.
func grepLoad(s size) *load {
	return &load{
		name: "grep", text: "grep -r over Go's source, " + grepped[s], kind: KindWhole, needs: []string{"go", "grep"}, quick: true,
		prepare: func(g *ground) error {
			root, err := goRoot(g)
			if err != nil {
				return err
			}
			g.memo["grep"] = filepath.Join(root, grepped[g.size])
			if _, err := os.Stat(g.memo["grep"]); err != nil {
				return fmt.Errorf("no Go source here: %w", err)
			}
			return nil
		},
		argv: func(g *ground, _ int) []string {
			return []string{g.programs["grep"], "-r", "-l", "-F", "func Parse(", g.memo["grep"]}
		},
		check: func(g *ground) (string, error) {
			text, err := os.ReadFile(filepath.Join(g.root, "own", "output"))
			return fmt.Sprintf("%d files", strings.Count(string(text), "\n")), err
		},
		reads: func(g *ground) []string { return []string{g.memo["goroot"]} },
	}
}

// shells starts many small programs.
func shells(s size) *load {
	return &load{
		name: "sh", text: fmt.Sprintf("a shell that starts sh -c true, %d times", shellsOf[s]), kind: KindWhole, needs: []string{"sh"}, quick: true,
		argv: func(g *ground, _ int) []string {
			n := strconv.Itoa(shellsOf[g.size])
			return script(g, "i=0; while [ $i -lt "+n+" ]; do sh -c true; i=$((i+1)); done")
		},
	}
}

// untar unpacks many small files.
func untar(s size) *load {
	const dir = "tar"
	return &load{
		name: "tar", text: fmt.Sprintf("tar x of %d small files", tarFiles[s]), kind: KindWhole, needs: []string{"tar"}, dir: dir, quick: true,
		prepare: func(g *ground) error {
			n := tarFiles[g.size]
			files := map[string]string{}
			for i := range n {
				files[fmt.Sprintf("tree/d%02d/file%04d.txt", i%50, i)] = strings.Repeat("line of file "+strconv.Itoa(i)+"\n", 1+i%20)
			}
			if err := os.MkdirAll(g.dir(dir), 0o755); err != nil {
				return err
			}
			return writeTar(g.dir(dir+"/tree.tar"), "", files, "")
		},
		before: func(g *ground, _ int) error { return os.RemoveAll(g.dir(dir + "/tree")) },
		argv:   func(g *ground, _ int) []string { return []string{g.programs["tar"], "xf", "tree.tar"} },
		check:  func(g *ground) (string, error) { return countFiles(g.dir(dir + "/tree")) },
	}
}

// httpServer serves and asks over loopback. Each connection is closed, so that some are on
// their way in and out at any time.
func httpServer() *load {
	return &load{
		name: "http", text: "HTTP over loopback: 4 clients, 10 requests a connection", kind: KindWhole, quick: true,
		argv: func(g *ground, _ int) []string {
			return []string{g.self, programName, httpLoad, shapeOne, strconv.Itoa([...]int{400, 1000, 4000}[g.size]), "."}
		},
		reads: func(g *ground) []string { return []string{g.self} },
	}
}
