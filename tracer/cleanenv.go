// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// A program that enters a scope must not be led by its caller's environment. It is cleaned
// at the exec event, on the stack of the new image: that memory is nobody else's, and
// nothing of the image has run, so what is left is what the program gets.

// hooks are the variables by which loaders, libraries and interpreters run code or read
// files of the caller's choice: those that the C library ignores in set-uid programs
// (ld.so(8), sysdeps/generic/unsecvars.h), then those of interpreters. A * stands at the
// end of a prefix.
var hooks = strings.Fields(`
	LD_* GCONV_PATH GETCONF_DIR GLIBC_TUNABLES HOSTALIASES LOCALDOMAIN LOCPATH MALLOC_* NIS_PATH NLSPATH
	RESOLV_HOST_CONF RES_OPTIONS TMPDIR TZDIR
	BASH_ENV ENV BASH_FUNC_* BASHOPTS SHELLOPTS PS4 IFS CDPATH GLOBIGNORE FPATH ZDOTDIR
	PYTHON* PERL* RUBY* GEM_* BUNDLE_* NODE_* NPM_CONFIG_* npm_config_* DENO_* BUN_*
	JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH LUA_* PHPRC PHP_INI_SCAN_DIR TCLLIBPATH R_* JULIA_* GUILE_* AWKPATH AWKLIBPATH
	OPENSSL_* SSL_CERT_* SSLKEYLOGFILE GIT_* SSH_* EDITOR VISUAL PAGER MANPAGER LESSOPEN LESSCLOSE BROWSER TERMINFO TERMINFO_DIRS TERMCAP
	XDG_CONFIG_HOME XDG_CONFIG_DIRS XDG_DATA_HOME XDG_DATA_DIRS XDG_STATE_HOME XDG_CACHE_HOME SHELL KSH_ENV PROMPT_COMMAND VIMINIT EXINIT MYVIMRC TAR_OPTIONS ZIPOPT UNZIP
	GREP_OPTIONS RSYNC_* CVS_RSH SVN_SSH HG* SUDO_ASKPASS GNUPGHOME CURL_HOME WGETRC SYSTEM_WGETRC MAKEFLAGS MFLAGS GNUMAKEFLAGS
	GCC_EXEC_PREFIX COMPILER_PATH LIBRARY_PATH CPATH GOFLAGS GOENV GOROOT GOTOOLDIR CARGO* RUSTC* RUSTUP_* PIP_* PYENV_* CONDA_* VIRTUAL_ENV
	__PYVENV_LAUNCHER__ NVM_* ELECTRON_* DOTNET_* CORECLR_* COR_* PSModulePath ERL_* ELIXIR_* OCAML* CAML_* COVERAGE_*
	GTK_* GIO_* GST_* QT_* VK_* LIBGL_DRIVERS_PATH SASL_PATH P11_* KRB5_* MYSQL_* LIBMYSQL_* PGSYSCONFDIR PGSERVICEFILE PGPASSFILE MAGIC
	ASAN_OPTIONS LSAN_OPTIONS MSAN_OPTIONS TSAN_OPTIONS UBSAN_OPTIONS GCOV_* LLVM_PROFILE_FILE GMON_OUT_PREFIX`)

func isHook(name string) bool {
	for _, h := range hooks {
		if prefix, ok := strings.CutSuffix(h, "*"); ok && strings.HasPrefix(name, prefix) || h == name {
			return true
		}
	}
	return false
}

// cleanEnvironment takes the hooks out of the environment of a task at its exec event, and
// gives it a PATH of folders that the run cannot write, and the HOME of the run: programs
// look there for what to run at their start (Python's usercustomize, ~/.gitconfig).
func (l *loop) cleanEnvironment(s stopped) error {
	var r registers
	if err := getRegisters(s.tid, &r); err != nil {
		return err
	}
	block, err := readStart(s.tid, stackPointer(&r))
	if err != nil {
		return err
	}
	var kept []uint64
	for _, at := range block.env {
		name, err := variableAt(s.tid, at)
		if err != nil {
			return err
		}
		if name != "" && name != "PATH" && name != "HOME" && !isHook(name) {
			kept = append(kept, at)
		}
	}
	sp := stackPointer(&r)
	var ours []string
	if path := l.safePath(); path != "" {
		ours = append(ours, "PATH="+path)
	}
	for _, v := range l.cfg.Env {
		if strings.HasPrefix(v, "HOME=") {
			ours = append(ours, v)
			break
		}
	}
	for _, v := range ours {
		text := append([]byte(v), 0)
		sp -= uint64(len(text))
		if err := writeMem(s.tid, text, sp); err != nil {
			return err
		}
		kept = append(kept, sp)
	}
	block.env = kept
	raw := block.bytes()
	sp = (sp - uint64(len(raw))) &^ 15
	if err := writeMem(s.tid, raw, sp); err != nil {
		return err
	}
	setStackPointer(&r, sp)
	return setRegisters(s.tid, &r)
}

// safePath is the PATH that the run was started with, without the folders that it could
// write.
func (l *loop) safePath() string {
	if l.cleanPath != nil {
		return *l.cleanPath
	}
	var out []string
	for _, v := range l.cfg.Env {
		path, ok := strings.CutPrefix(v, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(path) {
			if real, err := filepath.EvalSymlinks(dir); err == nil && filepath.IsAbs(dir) && l.cfg.Scopes.Writable(real+"/.ptguard-asks") == nil && l.cfg.Scopes.Writable(filepath.Clean(dir)) == nil {
				out = append(out, dir)
			}
		}
	}
	text := strings.Join(out, string(filepath.ListSeparator))
	l.cleanPath = &text
	return text
}

// start is what the kernel puts on the stack of a new image (the System V ABI's "initial
// process stack"): the argument vector, the environment, the auxiliary vector.
type start struct {
	args, env []uint64
	auxv      []byte
}

// maxStart bounds what is read of a stack: the kernel takes 6 MiB of words and strings.
const maxStart = 8 << 20

// readStart reads the words at a stack pointer, up to AT_NULL.
func readStart(tid int, sp uint64) (*start, error) {
	var raw []byte
	word := func(i int) (uint64, error) {
		for len(raw) < 8*(i+1) {
			if len(raw) > maxStart {
				return 0, fmt.Errorf("more than %d bytes on the stack", maxStart)
			}
			at := sp + uint64(len(raw))
			page := make([]byte, pageSize-at%pageSize)
			if err := readAll(tid, page, at); err != nil {
				return 0, err
			}
			raw = append(raw, page...)
		}
		return binary.NativeEndian.Uint64(raw[8*i:]), nil
	}
	argc, err := word(0)
	if err != nil || argc > maxStart/8 {
		return nil, fmt.Errorf("read the argument count: %w", err)
	}
	s, i := &start{}, 1
	list := func(into *[]uint64) error {
		for {
			w, err := word(i)
			i++
			if err != nil || w == 0 {
				return err
			}
			*into = append(*into, w)
		}
	}
	if err := list(&s.args); err != nil {
		return nil, err
	}
	if err := list(&s.env); err != nil {
		return nil, err
	}
	for from := i; ; i += 2 {
		kind, err := word(i)
		if err == nil {
			_, err = word(i + 1)
		}
		if err != nil {
			return nil, err
		}
		if kind == 0 { // AT_NULL
			s.auxv = raw[8*from : 8*(i+2)]
			return s, nil
		}
	}
}

// bytes lays the block out again.
func (s *start) bytes() []byte {
	out := binary.NativeEndian.AppendUint64(nil, uint64(len(s.args)))
	for _, list := range [][]uint64{s.args, s.env} {
		for _, w := range list {
			out = binary.NativeEndian.AppendUint64(out, w)
		}
		out = binary.NativeEndian.AppendUint64(out, 0)
	}
	return append(out, s.auxv...)
}

// variableAt reads the name of a variable; "" for a string that is none, or whose name is
// longer than any that is used.
func variableAt(tid int, at uint64) (string, error) {
	const most = 256
	buf := make([]byte, 0, most)
	for len(buf) < most {
		from := at + uint64(len(buf))
		part := make([]byte, min(most-len(buf), int(pageSize-from%pageSize)))
		if err := readAll(tid, part, from); err != nil {
			if len(buf) > 0 {
				break // the end of the stack
			}
			return "", err
		}
		buf = append(buf, part...)
		if i := bytes.IndexAny(buf, "=\x00"); i >= 0 {
			if buf[i] == 0 {
				return "", nil
			}
			return string(buf[:i]), nil
		}
	}
	return "", unix.ENAMETOOLONG
}
