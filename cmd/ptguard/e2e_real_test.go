// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ptguard/internal/ktest"
)

// sh is the argument vector of a shell script that stops at the first failure.
func sh(script string) []string { return []string{"sh", "-ec", script} }

func TestRealGit(t *testing.T) {
	t.Parallel()
	t.Run("new", func(t *testing.T) {
		ktest.Same(t, ktest.Case{Stdout: "second", Argv: sh(`
			git init -q -b main r; cd r; echo one >a; mkdir d; echo two >d/b; git add .; git commit -q -m first
			git mv a c; echo more >>c; git commit -qam second; git branch side; git checkout -q side; git checkout -q main
			cd ..; git clone -q r copy; git -C copy log --oneline; git -C copy status --short
			git -C r gc -q; git -C r fsck; git -C r tag v1; git -C r archive main | tar t; git -C copy fetch -q --tags; git -C copy tag`)})
	})
	t.Run("existing", func(t *testing.T) {
		ktest.Same(t, ktest.Case{
			Fill: func(t testing.TB, b *ktest.Box) {
				b.Write(t, "work/r/a", "one\n")
				r := b.Bare(t, "sh", "-ec", "git init -q -b main r; cd r; git add .; git commit -q -m first")
				if r.Status != 0 {
					t.Fatalf("prepare repository: %v", r)
				}
			},
			Stdout: "second",
			Argv:   sh(`cd r; echo two >>a; git diff --stat; git commit -qam second; git log --format=%s; git config a.b c; git config a.b; git gc -q; ls -A .git | sort`),
		})
	})
}

// A cold build of net/http and all beneath it. The bare half takes a warm cache: its
// output is the same, and the build is slow.
func TestRealGoBuild(t *testing.T) {
	t.Parallel()
	ktest.Same(t, ktest.Case{
		Fill: func(t testing.TB, b *ktest.Box) {
			b.Write(t, "work/go.mod", "module hello\n\ngo 1.24\n")
			b.Write(t, "work/main.go", `package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
)

func main() {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "hello over http") }))
	defer s.Close()
	r, err := http.Get(s.URL)
	if err != nil {
		panic(err)
	}
	text, _ := io.ReadAll(r.Body)
	fmt.Print(string(text))
}
`)
		},
		Argv: sh("go build -buildvcs=false -o hello . && ./hello && go vet . && go list -m"), BareEnv: warmCache(),
		Stdout: "hello over http\n", Timeout: 4 * time.Minute,
	})
}

func TestRealMake(t *testing.T) {
	t.Parallel()
	const n = 100
	ktest.Same(t, ktest.Case{
		Fill: func(t testing.TB, b *ktest.Box) {
			var objs, decls, sum strings.Builder
			for i := range n {
				fmt.Fprintf(&objs, " f%d.o", i)
				fmt.Fprintf(&decls, "int f%d(void);\n", i)
				fmt.Fprintf(&sum, " + f%d()", i)
				b.Write(t, fmt.Sprintf("work/f%d.c", i), fmt.Sprintf("#include \"all.h\"\nint f%d(void) { return %d; }\n", i, i))
			}
			b.Write(t, "work/all.h", decls.String())
			b.Write(t, "work/main.c", "#include <stdio.h>\n#include \"all.h\"\nint main(void) { printf(\"%d\\n\", 0"+sum.String()+"); return 0; }\n")
			b.Write(t, "work/Makefile", "CFLAGS = -O0\nprog: main.o"+objs.String()+"\n\t$(CC) -o $@ $^\n%.o: %.c all.h\n\t$(CC) $(CFLAGS) -c -o $@ $<\n")
		},
		Argv:   sh("make -s -j2; ./prog; make -j2; touch f7.c; make -j2; rm -f *.o"),
		Stdout: fmt.Sprintln(n * (n - 1) / 2), Timeout: 3 * time.Minute,
	})
}

func fillPackage(t testing.TB, b *ktest.Box) {
	b.Write(t, "work/package.json", `{"name": "probe", "version": "1.2.3", "main": "index.js", "files": ["index.js"]}`)
	b.Write(t, "work/index.js", "module.exports = 42\n")
}

func TestRealNpmPack(t *testing.T) {
	t.Parallel()
	ktest.Same(t, ktest.Case{
		Fill: fillPackage, Argv: sh("npm pack; tar tf probe-1.2.3.tgz"), Stdout: "probe-1.2.3.tgz\npackage/",
		Scrubs: []ktest.Scrub{ktest.Replace(`\d{4}-\d\d-\d\dT[\w:]+`, "TIME")},
	})
}

// Without a cache folder in a writable root npm writes below home, which is refused,
// and the hint says how to allow it.
func TestRealNpmPackHint(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, fillPackage)
	cache := b.Path("home/.npm")
	argv := sh("unset npm_config_cache; npm pack")
	if r := b.Bare(t, argv...); r.Status != 0 {
		t.Fatalf("bare: %v", r)
	}
	if _, err := os.Stat(cache); err != nil {
		t.Fatalf("bare npm pack writes nothing below %s: %v", cache, err)
	}
	b.Reset(t)
	r := b.Guard(t, nil, argv...)
	r.WantLine(t, "hint", "--write "+cache)
	b.Absent(t, "home/.npm")
	b.Find(t, ktest.Want{Access: "create", Fix: "--write " + cache})
}

func TestRealNode(t *testing.T) {
	t.Parallel()
	ktest.Same(t, ktest.Case{
		Fill: func(t testing.TB, b *ktest.Box) {
			b.Write(t, "work/main.js", `
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const { spawn, execFileSync, fork } = require('child_process');
const fs = require('fs'), http = require('http'), path = require('path');
if (process.argv[2] === 'child') { process.send({ up: true }); process.disconnect(); return; }
if (!isMainThread) { fs.writeFileSync('w' + workerData, 'x'); parentPort.postMessage(workerData * 2); return; }
(async () => {
  const sums = await Promise.all([1, 2, 3, 4].map(n => new Promise((ok, no) => {
    const w = new Worker(__filename, { workerData: n }); w.on('message', ok); w.on('error', no); })));
  console.log(sums.join(), fs.readdirSync('.').join());
  console.log(execFileSync('echo', ['sync']).toString().trim());
  await new Promise(ok => { const c = spawn('sh', ['-c', 'cat; exit 3'], { stdio: ['pipe', 'inherit', 'inherit'] });
    c.stdin.end('piped\n'); c.on('exit', code => { console.log('exit', code); ok(); }); });
  await new Promise(ok => fork(__filename, ['child']).on('message', m => { console.log(m); ok(); }));
  const s = http.createServer((q, r) => r.end('served')).listen(0, '127.0.0.1', async () => {
    console.log(await (await fetch('http://127.0.0.1:' + s.address().port)).text());
    s.closeAllConnections(); s.close(); });
  await fs.promises.mkdir('d/e', { recursive: true }); await fs.promises.rm('d', { recursive: true });
})();
`)
		},
		Argv: []string{"node", "main.js"}, Stdout: "2,4,6,8",
	})
}

func TestRealPython(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]ktest.Case{
		"venv": {Argv: sh(`python3 -m venv --without-pip v; v/bin/python -c 'import sys; print(sys.prefix)'; v/bin/python -c 'import ssl, sqlite3, ctypes; print("imports")'`), Stdout: "/work/v\n"},
		"multiprocessing": {Stdout: "[0, 1, 4, 9", Argv: []string{"python3", "-c", `
import multiprocessing as m, tempfile, shutil, os
def f(x): return x * x
def g(q, l):
    with l: q.put(os.getppid() > 0)
if __name__ == "__main__":
    with m.Pool(3) as p: print(p.map(f, range(20)))
    q, l = m.Queue(), m.Lock()
    ps = [m.Process(target=g, args=(q, l)) for _ in range(4)]
    for p in ps: p.start()
    print([q.get() for _ in ps])
    for p in ps: p.join()
    print([p.exitcode for p in ps])
    with m.Manager() as man:
        d = man.dict(); d["k"] = 1; print(dict(d))
    v = m.Value("i", 7); print(v.value)
    t = tempfile.mkdtemp(); open(t + "/x", "w").close(); shutil.rmtree(t)
`}},
		"subprocess": {Stdout: "0 False\n", Argv: []string{"python3", "-c", `
import subprocess as s, signal, os, sys
print(s.call(["true"]), s.call(["false"]) == 0)
print(s.run("echo out; echo err >&2; exit 5", shell=True, capture_output=True))
print(s.check_output(["cat"], input=b"in"))
print(s.run(["sh", "-c", "kill -TERM $$"]).returncode)
try: s.run(["sleep", "60"], timeout=0.2)
except s.TimeoutExpired: print("timeout")
try: s.run(["/nonexistent/program"])
except FileNotFoundError as e: print(e)
p = s.Popen(["sleep", "60"], start_new_session=True); os.killpg(p.pid, signal.SIGKILL); print(p.wait())
r, w = os.pipe(); p = s.Popen(["sh", "-c", "echo fd >&%d" % w], pass_fds=[w]); os.close(w); print(os.read(r, 9), p.wait())
pid = os.posix_spawn("/bin/echo", ["echo", "spawn"], os.environ); print(os.waitpid(pid, 0)[1])
`}},
		"asyncio": {Stdout: "b'HELLO'", Argv: []string{"python3", "-c", `
import asyncio, socket
async def serve(r, w):
    w.write((await r.read(100)).upper()); await w.drain(); w.close()
async def main():
    for host in ("127.0.0.1", "::1"):
        try: s = await asyncio.start_server(serve, host, 0)
        except OSError as e: print(host, e.errno); continue
        async with s:
            r, w = await asyncio.open_connection(host, s.sockets[0].getsockname()[1])
            w.write(b"hello"); w.write_eof(); print(await r.read())
            w.close()
    s = await asyncio.start_unix_server(serve, "sock")
    async with s:
        r, w = await asyncio.open_unix_connection("./sock"); w.write(b"unix"); w.write_eof(); print(await r.read()); w.close()
    p = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1)
    print(await p.communicate(b"through cat"))
    loop = asyncio.get_running_loop()
    class D(asyncio.DatagramProtocol):
        def connection_made(self, t): self.t = t
        def datagram_received(self, d, a): self.t.sendto(b"re " + d, a)
    t, _ = await loop.create_datagram_endpoint(D, local_addr=("127.0.0.1", 0))
    c = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); c.setblocking(False)
    await loop.sock_sendto(c, b"udp", t.get_extra_info("sockname")); print(await loop.sock_recv(c, 99)); t.close()
asyncio.run(main())
`}},
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); ktest.Same(t, c) })
	}
}

func TestRealJava(t *testing.T) {
	t.Parallel()
	const source = `
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;

public class Probe {
    public static void main(String[] a) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(16);
        List<Future<Integer>> all = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            int n = i;
            all.add(pool.submit(() -> { Files.writeString(Path.of("j" + n), "x"); return n; }));
        }
        int sum = 0;
        for (Future<Integer> f : all) sum += f.get();
        pool.shutdown();
        System.out.println(sum);
        Process p = new ProcessBuilder("sh", "-c", "echo child; cat; exit 4").redirectErrorStream(true).start();
        p.getOutputStream().write("to child\n".getBytes());
        p.getOutputStream().close();
        System.out.print(new String(p.getInputStream().readAllBytes()));
        System.out.println(p.waitFor());
        try (java.net.ServerSocket s = new java.net.ServerSocket(0, 1, java.net.InetAddress.getByName("127.0.0.1"));
             java.net.Socket c = new java.net.Socket("127.0.0.1", s.getLocalPort()); java.net.Socket d = s.accept()) {
            c.getOutputStream().write(65);
            System.out.println(d.getInputStream().read());
        }
        Path t = Files.createTempFile("p", "q");
        Files.delete(t);
        System.exit(3);
    }
}
`
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) { b.Write(t, "work/Probe.java", source) })
	if r := b.Bare(t, "javac", "-d", dir, "Probe.java"); r.Status != 0 {
		t.Fatalf("javac: %v", r)
	}
	class, err := os.ReadFile(dir + "/Probe.class")
	if err != nil {
		t.Fatal(err)
	}
	ktest.Same(t, ktest.Case{
		Fill: func(t testing.TB, b *ktest.Box) { b.Write(t, "work/Probe.class", string(class)) },
		Argv: []string{"java", "-cp", ".", "Probe"}, Status: 3, Stdout: "4950\nchild\nto child\n4\n65\n",
	})
}

func TestRealTools(t *testing.T) {
	t.Parallel()
	tree := func(t testing.TB, b *ktest.Box) {
		for i := range 30 {
			b.Write(t, fmt.Sprintf("work/tree/d%d/f%d", i%5, i), strings.Repeat("x", i*100))
		}
		if err := os.Symlink("d0/f0", b.Path("work/tree/link")); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(b.Path("work/tree/d0/f0"), b.Path("work/tree/hard")); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]ktest.Case{
		"tar":    {Fill: tree, Argv: sh("tar cf a.tar tree; tar tf a.tar | sort; mkdir out; tar xpf a.tar -C out; diff -r tree out/tree; tar czf - tree | tar tz | wc -l"), Stdout: "tree/link"},
		"cp, mv": {Fill: tree, Argv: sh("cp -a tree t2; diff -r tree t2; mv t2 t3; ln -s t3 l; ls -R l/ | sort; chmod -R go-w t3; touch -d 2001-01-01 t3/hard; stat -c %Y t3/hard; rm -r t3; rm -f absent; install -m 600 tree/hard i; stat -c %a i; truncate -s 5 i; wc -c <i; mktemp -u x.XXXXXX | wc -c; dd if=/dev/zero of=z bs=1k count=3 2>/dev/null; sort -o z2 z; sed -i s/a/b/ i"), Stdout: "978307200\n600\n5\n9\n"},
		"xargs":  {Fill: tree, Argv: sh("find tree -type f | xargs -P2 -n3 wc -c; find tree -name 'f1*' -exec cat {} + | wc -c; find tree -name f2 -delete"), Scrubs: []ktest.Scrub{ktest.SortLines}},
		"job control": {Argv: []string{"bash", "-c", `set -m; exec 2>/dev/null
			sleep 60 & jobs %1; kill -STOP %1; until [ "$(ps -o stat= -p $! | cut -c1 | tr t T)" = T ]; do :; done; kill -CONT %1; kill %1; wait %1; echo $?
			(exit 7) & wait $!; echo $?
			sleep 0.1 & fg >/dev/null; echo $?
			coproc cat; echo through >&${COPROC[1]}; read x <&${COPROC[0]}; echo $x; kill %%
			trap 'echo trapped' USR1; kill -USR1 $$; disown -a; wait`}, Stdout: "143\n7\n0\nthrough\ntrapped\n", Scrubs: []ktest.Scrub{ktest.Replace(`(?m)^\[1\].*\n`, ""), ktest.Replace(`\d{2,}`, "N")}},
		"bash":           {Argv: []string{"bash", "-c", `diff <(echo a) <(echo a) && echo same; cat <<<here; echo x | tee >(cat >f) | cat; exec 3<>f2; echo y >&3; echo to stderr >/dev/stderr; echo to fd >/dev/fd/1; cat /dev/stdin </dev/null; echo $(<f2); shopt -s lastpipe; echo v | read z; ulimit -n >/dev/null; echo z$z`}, Stdout: "same\nhere\n", Scrubs: []ktest.Scrub{ktest.SortLines}},
		"script":         {Argv: []string{"script", "-qec", "tty >/dev/null && echo on a terminal; stty size; exit 6", "/dev/null"}, Status: 6, Stdout: "on a terminal"},
		"timeout":        {Argv: []string{"bash", "-c", `timeout 0.2 sleep 60; echo $?; timeout -s KILL 0.2 sleep 60; echo $?; timeout 60 sh -c 'exit 3'; echo $?; timeout -k 0.2 0.2 sh -c 'trap "" TERM; while :; do sleep 0.1; done'; echo $?`}, Stdout: "124\n137\n3\n137\n", Scrubs: []ktest.Scrub{ktest.Replace(`line 1: +\d+`, "line 1: N")}},
		"static Go":      {Argv: []string{ktest.GoTracee(t, "goserver")}, Status: 3, Stdout: "over loopback; child\n<nil>; 50 files"},
		"200 threads":    {Argv: []string{ktest.Tracee(t, "threads")}, Stdout: "sum 19900\n"},
		"static threads": {Argv: []string{ktest.Tracee(t, "threads", "-static")}, Stdout: "sum 19900\n"},
		"own filter":     {Argv: []string{ktest.Tracee(t, "filter")}, Stdout: "mkdir -1 quota 1\nfopen 1\nchild\n"},
		"perl":           {Argv: []string{"perl", "-e", `use File::Temp; use Socket; my $f = File::Temp->new; print $f "x"; print -e $f->filename ? "there\n" : "no\n"; socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, 0); syswrite $a, "pair\n"; sysread $b, my $x, 9; print $x; print STDERR "err\n"; exit(system("sh", "-c", "exit 4") >> 8)`}, Status: 4, Stdout: "there\npair\n"},
		"curl file":      {Fill: tree, Argv: sh("curl -s file://$PWD/tree/d1/f1 | wc -c; ! curl -s http://127.0.0.1:1/")},
		"gcc":            {Argv: sh(`printf '#include <stdio.h>\nint main(){puts("compiled");return 2;}' >a.c; gcc -O2 -pipe a.c -o a; ./a || echo $?; gcc -shared -fPIC a.c -o a.so; ar rc a.a a.so; nm -D a.so | grep -c main`), Stdout: "compiled\n2\n1\n"},
		"id, getent":     {Argv: sh("id -u; getent passwd root; getent ahostsv4 localhost >/dev/null; ls -l / >/dev/null; date +%Y >/dev/null; uname -s; nproc >/dev/null; df / >/dev/null; env | grep -c HOME; locale >/dev/null")},
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); ktest.Same(t, c) })
	}
}

// One hundred runs of a three-stage pipeline: whatever order fork events, first stops
// and exits come in, the answer is the same.
func TestRealPipelines(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, nil)
	argv := []string{"dash", "-c", "echo one two | tr ' ' '\\n' | sort -r"}
	const want = "two\none\n"
	if r := b.Bare(t, argv...); r.Stdout != want {
		t.Fatalf("bare: %v", r)
	}
	for i := range 100 {
		r := b.Guard(t, nil, argv...)
		if r.Stdout != want || r.Stderr != "" || r.Status != 0 {
			t.Fatalf("run %d: %v", i, r)
		}
	}
}
