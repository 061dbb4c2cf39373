#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the same probes bare, in bubblewrap and under `ptguard run --preset hermetic`, on the
same folders, and prints the table of docs/bubblewrap.md.

    go build -o /tmp/ptguard ./cmd/ptguard
    docs/compare/bubblewrap.py /tmp/ptguard >docs/bubblewrap.md

The bubblewrap side is the view that sandboxes for agents commonly build: the system's folders
and the work folder read-only, single files of /etc, a fresh /proc, /dev and /tmp, dotfiles of
the work folder covered one by one at the start, namespaces for processes, IPC and host name.
"""
import os, platform, shutil, signal, socket, statistics, subprocess, sys, tempfile, threading, time

ptguard = os.path.abspath(sys.argv[1])
base = os.path.realpath(tempfile.mkdtemp(prefix="compare-", dir="/srv"))
work, home = base + "/work", base + "/home"

def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)

def fill():
    shutil.rmtree(work, ignore_errors=True)
    shutil.rmtree(home, ignore_errors=True)
    write(work + "/.env", "SECRET\n")
    write(work + "/sub/.env", "SECRET\n")
    write(work + "/.github/ci.yaml", "ci\n")
    write(work + "/f", "one\n")
    write(work + "/granted", "old\n")
    write(home + "/.ssh/id_rsa", "KEY\n")
    subprocess.run("git init -q . && find . -path ./.git -prune -o -exec touch -h -d '1 hour ago' {} + && git add -A && git -c user.name=a -c user.email=a@b commit -qm one", shell=True, cwd=work, check=True)

HELPER = r"""
import errno, os, socket, sys
def word(f):
    try:
        r = f()
        return r if isinstance(r, str) else "done"
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e))
"""

def py(expression, more=""):
    return ["/usr/bin/python3", "-c", HELPER + more + "\nprint(word(lambda: " + expression + "))"]

def sh(text):
    return ["/bin/sh", "-c", text]

def read(path):
    return py(f"'read' if open({path!r}).read() else 'empty'")

outsider = subprocess.Popen(["sleep", "3600"], start_new_session=True)

def servers():
    a = socket.socket(socket.AF_UNIX); a.bind("\0compare-abstract"); a.listen(9)
    u = socket.socket(socket.AF_UNIX); u.bind(work + "/sock"); u.listen(9)
    t = socket.socket(); t.bind(("127.0.0.1", 0)); t.listen(9)
    return a, u, t

# (what, command, extra bwrap arguments, extra ptguard arguments)
def probes(port):
    wr = ["--bind", work, work]
    return [
        ("read `.env`", read(work + "/.env"), [], []),
        ("read `sub/.env`, two levels down", read(work + "/sub/.env"), [], []),
        ("what `.env` is to stat", sh("stat -c %F .env"), [], []),
        ("a dotfile that the program makes: read it back", sh("echo x >.new && cat .new >/dev/null && echo read || echo refused"), wr, ["--write", work]),
        ("`git status` in a repository with a tracked `.env`", sh("s=$(git status --porcelain | tr '\\n' ' '); echo ${s:-clean}"), wr, ["--write", work]),
        ("remove the masked `.env`", py("os.remove('.env')"), wr, ["--write", work]),
        ("read `~/.ssh/id_rsa`", read(home + "/.ssh/id_rsa"), [], []),
        ("list the home folder", py(f"os.listdir({home!r}) and 'listed'"), [], []),
        ("read /etc/shadow", read("/etc/shadow"), [], []),
        ("write in the work folder", py("open('made', 'w').close()"), [], []),
        ("replace a granted file by rename (as editors do)", py("(open('granted.tmp', 'w').close(), os.rename('granted.tmp', 'granted')) and 'replaced'"), ["--bind", work + "/granted", work + "/granted"], ["--write", work + "/granted", "--write", work + "/granted.tmp"]),
        ("write into a granted folder that is not there yet", py("(os.mkdir('out'), open('out/x', 'w').close()) and 'written'"), ["--bind-try", work + "/out", work + "/out"], ["--write", work + "/out"]),
        ("connect to a server's socket in the work folder", py(f"socket.socket(socket.AF_UNIX).connect({work + '/sock'!r})"), [], []),
        ("connect to an abstract socket of an outsider", py("socket.socket(socket.AF_UNIX).connect('\\0compare-abstract')"), [], []),
        ("connect to a loopback port of an outsider", py(f"socket.socket().connect(('127.0.0.1', {port}))"), [], []),
        ("see a process outside", py(f"open('/proc/{outsider.pid}/cmdline').read() and 'read'"), [], []),
        ("signal a process outside", py(f"os.kill({outsider.pid}, 0)"), [], []),
        ("make a user namespace", sh("unshare -U true 2>/dev/null && echo made || echo refused"), [], []),
        ("open a socket of family netlink", py("socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)"), [], []),
        ("memory of a process outside", py(f"open('/proc/{outsider.pid}/mem', 'rb')"), [], []),
    ]

def bwrap(extra):
    args = ["bwrap", "--unshare-pid", "--unshare-uts", "--unshare-ipc", "--die-with-parent", "--new-session"]
    for d in "/usr /lib /lib64 /lib32 /bin /sbin /etc/ssl /etc/alternatives".split():
        args += ["--ro-bind-try", d, d]
    args += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    for f in "resolv.conf hosts nsswitch.conf passwd group localtime ld.so.cache".split():
        args += ["--ro-bind-try", "/etc/" + f, "/etc/" + f]
    args += ["--ro-bind", work, work] + extra
    for name in sorted(os.listdir(work)):  # the scan: what is there now, at the top level
        path = work + "/" + name
        if name.startswith(".") and name not in (".git", ".gitignore"):
            args += ["--tmpfs", path] if os.path.isdir(path) else ["--ro-bind", "/dev/null", path]
    return args + ["--chdir", work, "--"]

def guard(extra):
    return [ptguard, "run", "--preset", "hermetic", "--work", work, "-q"] + extra + ["--"]

env = {"PATH": "/usr/bin:/bin", "HOME": home, "LANG": "C.UTF-8"}

def run(prefix, argv):
    r = subprocess.run(prefix + argv, cwd=work, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    lines = (r.stdout or "").strip().splitlines()
    return lines[0].strip() if lines else "failed: " + (r.stderr.strip().splitlines() or ["?"])[-1][:60]

def clock(prefix, argv, times):
    out = []
    for _ in range(times):
        begin = time.perf_counter()
        subprocess.run(prefix + argv, cwd=work, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        out.append((time.perf_counter() - begin) * 1e3)
    return out

def main():
    version = subprocess.run(["bwrap", "--version"], capture_output=True, text=True).stdout.strip()
    own = subprocess.run([ptguard, "version"], capture_output=True, text=True).stdout.splitlines()[0]
    print(f"""# Beside bubblewrap

Made by [docs/compare/bubblewrap.py](compare/bubblewrap.py) on {time.strftime('%Y-%m-%d')}, Linux {platform.release()}, {version}, {own},
as {'root' if os.geteuid() == 0 else 'an unprivileged user'}. Both sides show the same view: the toolchain, the work folder read-only, nothing else; the
script's head says how the bubblewrap side is built. A word is what the program saw: `done` and the like,
or the errno. Where a probe writes, both sides grant it.

| act | bare | bubblewrap | ptguard hermetic |
|---|---|---|---|""")
    fill()
    names = [p[0] for p in probes(0)]
    for i, name in enumerate(names):
        row = []
        for side in ("bare", "bwrap", "guard"):
            fill()
            keep = servers()
            _, argv, b, g = probes(keep[2].getsockname()[1])[i]
            row.append(run({"bare": lambda: [], "bwrap": lambda: bwrap(b), "guard": lambda: guard(g)}[side](), argv))
            for s in keep:
                s.close()
        print(f"| {name} | " + " | ".join(row) + " |")
    print("""
What it costs, medians of runs in turns on the same machine, as a multiple of the bare run:

| program | bare, ms | bubblewrap | ptguard hermetic |
|---|---|---|---|""")
    fill()
    for name, argv, times in (("true", ["/bin/true"], 41), ("git status", ["git", "status"], 31), ("python3 -c 'import json, socket'", ["/usr/bin/python3", "-c", "import json, socket"], 31), ("sh: 100 times true", sh("i=0; while [ $i -lt 100 ]; do /bin/true; i=$((i+1)); done"), 11), ("grep -r in /usr/include", ["grep", "-r", "ptguard", "/usr/include"], 7)):
        t = {"bare": [], "bwrap": [], "guard": []}
        for _ in range(times):
            t["bare"] += clock([], argv, 1); t["bwrap"] += clock(bwrap([]), argv, 1); t["guard"] += clock(guard([]), argv, 1)
        m = {k: statistics.median(v) for k, v in t.items()}
        print(f"| `{name}` | {m['bare']:.1f} | {m['bwrap'] / m['bare']:.1f} | {m['guard'] / m['bare']:.1f} |")
    print("""
bubblewrap pays once, at the start, and ptguard at each call that is judged. ptguard needs no namespaces: it works in
containers that refuse them. It says what was refused and how to allow it; in bubblewrap a program meets an
absent file, and nobody is told.""")

try:
    main()
finally:
    outsider.kill()
    outsider.wait()
    shutil.rmtree(base, ignore_errors=True)
