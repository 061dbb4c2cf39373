// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
	"ptguard/decode"
	"ptguard/record"
	"ptguard/rules"
	"ptguard/tracer"
)

// A lesson is what one run asked for and was not granted, sorted into what may be proposed
// and what a person has to decide.

// item is one entry of a list of the policy.
type item struct {
	text string // as YAML
	tier string // how far it reaches, in words
}

// addition is what a list of the policy gets.
type addition struct {
	section, list string
	items         []item
}

// wish is one object that was asked for.
type wish struct {
	request rules.Request
	times   uint64
}

// refusal is what is not granted, with the reason.
type refusal struct {
	what, why string
	times     uint64
}

type lesson struct {
	q       *inquiry
	allowed uint64
	// otherBase: the run had another policy than the one that is asked here.
	otherBase bool
	wishes    []wish
	known     map[string]int // of wishes
	kept      []refusal
	keptAt    map[string]int
	guards    uint64
	// made are the folders that the run itself made, gone the names it took away again.
	made, gone map[string]bool
	// fresh are the names that the run made; secrets those that were there before and whose
	// name says so.
	fresh, secrets map[string]bool
	execs          map[string]bool // every program and interpreter that was started
	granted        []addition
}

func newLesson(q *inquiry) *lesson {
	return &lesson{q: q, known: map[string]int{}, keptAt: map[string]int{}, made: map[string]bool{}, gone: map[string]bool{}, fresh: map[string]bool{}, secrets: map[string]bool{}, execs: map[string]bool{}}
}

// hear takes one record.
func (l *lesson) hear(rec *record.Record) {
	request, ok := tracer.RequestOf(rec)
	times := max(rec.Count, 1)
	refused := refusedVerdict(rec.Verdict)
	switch {
	case rec.Kind == record.KindStart, rec.Rule == bareRule:
		return
	case !ok || rec.Layer == string(rules.LayerGuard):
		if refused {
			l.guards += times
		}
		return
	}
	f := &request.File
	if request.Access&decode.Exec != 0 && f.Path != "" && !request.Loader {
		l.execs[f.Path] = true
	}
	if !refused || rec.Audit {
		switch {
		case request.Act == rules.ActMkdir:
			l.made[f.Path] = true
		case request.Access&decode.Remove != 0:
			l.gone[f.Path] = true
		}
		if request.Access&decode.Create != 0 && !f.Exists {
			l.fresh[f.Path] = true
		}
	}
	// A run that had another policy allowed what this one may refuse. What the built-in roots
	// and facts of the run allowed is not asked again: a trace does not tell all of these.
	if again := l.otherBase && slices.Contains([]rules.Layer{rules.LayerMode, rules.LayerPreset, rules.LayerFile, rules.LayerFlag}, rules.Layer(rec.Layer)); !refused && !again {
		l.allowed += times
		return
	}
	// What this policy says, which need not be what the run's said.
	policy, scope := l.q.policy, ""
	if sc := l.q.scopes.Named(rec.Scope); sc != nil {
		policy, scope = sc.Policy, rec.Scope
		request.Scope = scope
	}
	d := policy.Decide(&request)
	switch {
	case !d.Refused():
		l.allowed += times
	case scope != "":
		l.keep(&request, d.Access, "it was in scope "+scope+", whose section is for you to extend", times)
	case d.Rule.Layer == rules.LayerPreset:
		e := l.q.policy.Explain(&request, d)
		l.keep(&request, d.Access, e.Reason, times)
	case d.Rule.Layer != rules.LayerMode && d.Rule.Verb != "exec.allow":
		l.keep(&request, d.Access, "your own rule "+d.Rule.Pos, times)
	case f.Exists && !l.fresh[f.Path] && secretName(f.Path) && request.Access&(decode.Read|decode.Map|decode.Change) != 0:
		l.secrets[f.Path] = true
		l.keep(&request, d.Access, "its name says that it holds a secret", times)
	case sensitive(&request) != "":
		l.keep(&request, d.Access, sensitive(&request), times)
	default:
		l.wish(request, d, times)
	}
}

func (l *lesson) keep(r *rules.Request, access decode.Access, why string, times uint64) {
	what := access.String() + " " + maskWords(objectName(r))
	if at, ok := l.keptAt[what]; ok {
		l.kept[at].times += times
		return
	}
	l.keptAt[what] = len(l.kept)
	l.kept = append(l.kept, refusal{what, why, times})
}

func (l *lesson) wish(r rules.Request, d rules.Decision, times uint64) {
	r.Access = d.Access
	key := fmt.Sprint(r.Access, r.Act, r.File.Path, r.Addr)
	if at, ok := l.known[key]; ok {
		l.wishes[at].times += times
		return
	}
	l.known[key] = len(l.wishes)
	l.wishes = append(l.wishes, wish{r, times})
}

// secretNames are names whose reading a person should grant, wherever they lie; the presets
// know the usual places only.
var secretNames = []string{".env", ".env.*", "*.pem", "*.key", "*.p12", "*.pfx", "*.kdbx", "id_rsa*", "id_ed25519*", "id_ecdsa*", "*credential*", "*secret*", ".netrc", ".pgpass", "shadow", "gshadow"}

// startPlaces are places that the system runs or trusts by itself.
var startPlaces = []string{"/etc/cron*", "/etc/systemd", "/etc/init.d", "/etc/rc*", "/etc/profile*", "/etc/bash.bashrc", "/etc/ld.so*", "/etc/sudoers*", "/etc/pam.d", "/etc/passwd", "/etc/group", "/etc/ssh", "/usr/lib/systemd", "/lib/systemd", "/boot", "/var/spool/cron"}

// secretName tells whether a name says that its file holds a secret. Certificates are
// public, and are asked for by every program that speaks TLS.
func secretName(name string) bool {
	base := strings.ToLower(path.Base(name))
	if strings.HasSuffix(base, ".pem") {
		for _, public := range []string{"ca", "cert", "bundle", "root", "chain", "pub"} {
			if strings.HasPrefix(base, public) || public != "ca" && strings.Contains(base, public) {
				return false
			}
		}
	}
	return slices.ContainsFunc(secretNames, func(pattern string) bool {
		ok, _ := path.Match(pattern, base)
		return ok
	})
}

// sensitive says why a grant is not for a proposal, "" if it may be one.
func sensitive(r *rules.Request) string {
	name := r.File.Path
	if r.Access&decode.Change != 0 {
		for _, pattern := range startPlaces {
			for dir := name; len(dir) > 1; dir = path.Dir(dir) {
				if ok, _ := path.Match(pattern, dir); ok {
					return "the system runs or trusts what lies there"
				}
			}
		}
	}
	t := r.File.Mode & unix.S_IFMT
	if r.File.Exists && (t == unix.S_IFBLK || t == unix.S_IFCHR) && r.Access&^decode.Look != 0 {
		return "a device"
	}
	if strings.HasPrefix(name, "/proc/") || strings.HasPrefix(name, "/sys/") {
		if r.Access&decode.Change != 0 {
			return "a setting of the kernel"
		}
	}
	return ""
}

// reach is how far a grant reaches, from the mildest on.
const (
	tierTool   = "folders of tools"
	tierHome   = "in your home"
	tierOther  = "outside your home"
	tierSystem = "of the system"
)

var tiers = []string{tierTool, tierHome, tierOther, tierSystem}

func (l *lesson) tier(p string, tool bool) string {
	switch {
	case tool:
		return tierTool
	case l.q.policy.InHome(p):
		return tierHome
	}
	for _, dir := range []string{"/etc", "/usr", "/var", "/lib", "/bin", "/sbin", "/boot", "/dev", "/proc", "/sys", "/run"} {
		if p == dir || strings.HasPrefix(p, dir+"/") {
			return tierSystem
		}
	}
	return tierOther
}

// place is one grant on its way: a path with all beneath, that one object, or a glob.
type place struct {
	path   string
	object bool // that one object only
	tool   bool // a tool's own folder
	// glob: the names in path that begin and end so.
	glob           bool
	prefix, suffix string
}

// grants makes the proposal.
func (l *lesson) grants() []addition {
	var writes, reads []wish
	flags := map[string][]string{}
	for _, w := range l.wishes {
		r := &w.request
		switch {
		case r.Access&(decode.Connect|decode.Bind) != 0:
			l.address(flags, r)
		case r.Access&decode.Exec != 0:
			flags["exec"] = append(flags["exec"], r.File.Path)
		case r.Access&decode.Change != 0:
			writes = append(writes, w)
		default:
			reads = append(reads, w)
		}
	}
	written := l.collapse(writes, true)
	var rest []wish
	for _, w := range reads {
		if !slices.ContainsFunc(written, func(p place) bool { return p.covers(w.request.File.Path) }) {
			rest = append(rest, w)
		}
	}
	var out []addition
	add := func(section, list string, items []item) {
		if len(items) > 0 {
			out = append(out, addition{section, list, items})
		}
	}
	read := l.collapse(rest, false)
	add("files", "read", l.items(read))
	add("files", "write", l.items(written))
	add("files", "deny", l.outOf(slices.Concat(read, written)))
	if len(flags["exec"]) > 0 {
		add("exec", "allow", l.programs())
	}
	for _, list := range []string{"connect", "bind"} {
		add("net", list, l.addresses(flags[list]))
	}
	l.granted = out
	return out
}

func (p place) covers(name string) bool {
	switch {
	case p.glob:
		base := path.Base(name)
		return path.Dir(name) == p.path && strings.HasPrefix(base, p.prefix) && strings.HasSuffix(base, p.suffix)
	case p.object:
		return p.path == name
	}
	return p.path == name || strings.HasPrefix(name, p.path+"/")
}

// outOf are the secrets that lie in a folder which is granted: they stay out of it.
func (l *lesson) outOf(granted []place) (out []item) {
	for _, name := range slices.Sorted(maps.Keys(l.secrets)) {
		if slices.ContainsFunc(granted, func(p place) bool { return p.covers(name) }) {
			out = append(out, item{text: "{ path: " + yamlWord(l.q.policy.Word(name)) + ", reason: \"asked for, not granted by ptguard learn\" }"})
		}
	}
	return out
}

// few is how many names of one folder are listed by themselves; more are the folder.
const few = 2

// collapse turns many paths into few grants: a tool's folder, a folder that the run made or
// many of whose files it used, a glob where the folder holds too much else, else the path.
func (l *lesson) collapse(wishes []wish, writing bool) []place {
	p := l.q.policy
	roots := map[string]bool{} // path -> is it a tool's
	leaves := map[string]map[string]*rules.Request{}
	var alone []place
	for i := range wishes {
		r := &wishes[i].request
		name := strings.TrimSuffix(r.File.Path, "/#tmpfile")
		if name == "" {
			continue
		}
		isDir := r.File.Mode&unix.S_IFMT == unix.S_IFDIR || r.Act == rules.ActMkdir || l.made[name] || name != r.File.Path
		dir := path.Dir(name)
		switch tool := p.ToolFolder(name, r.Comm); {
		case tool != name:
			roots[tool] = true
		case l.underMade(name) != "":
			keepRoot(roots, l.underMade(name))
		case isDir && p.Broad(name):
			if !writing {
				alone = append(alone, place{path: name, object: true})
			}
		case isDir && r.Access&^decode.Look == 0:
			alone = append(alone, place{path: name, object: true})
		case isDir:
			keepRoot(roots, name)
		default:
			if leaves[dir] == nil {
				leaves[dir] = map[string]*rules.Request{}
			}
			if old := leaves[dir][name]; old == nil || takesName(r) {
				leaves[dir][name] = r
			}
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(leaves)) {
		alone = append(alone, l.folder(dir, leaves[dir], roots, writing)...)
	}
	l.merge(roots)
	var out []place
	for _, root := range slices.Sorted(maps.Keys(roots)) {
		out = append(out, place{path: root, tool: roots[root]})
	}
	for i, a := range alone {
		if slices.Index(alone, a) == i && !slices.ContainsFunc(out, func(p place) bool {
			return p != a && (p.covers(a.path) && !a.glob || !p.object && !p.glob && p.covers(a.path+"/x"))
		}) {
			out = append(out, a)
		}
	}
	return out
}

// keepRoot adds a folder that is no tool's, as far as it is not there already.
func keepRoot(roots map[string]bool, dir string) {
	if _, ok := roots[dir]; !ok {
		roots[dir] = false
	}
}

// underMade is the highest folder on the way to a name that the run itself made.
func (l *lesson) underMade(name string) string {
	found := ""
	for dir := name; len(dir) > 1; dir = path.Dir(dir) {
		if l.made[dir] && !l.q.policy.Broad(dir) {
			found = dir
		}
	}
	return found
}

// folder decides about the files of one folder.
func (l *lesson) folder(dir string, files map[string]*rules.Request, roots map[string]bool, writing bool) (alone []place) {
	broad := l.q.policy.Broad(dir)
	whole, random := len(files) > few, false
	for name, r := range files {
		whole = whole || writing && takesName(r)
		random = random || writing && l.gone[name] && !r.File.Exists || randomName(path.Base(name))
	}
	if !broad && (whole || random) {
		keepRoot(roots, dir)
		return nil
	}
	names := slices.Sorted(maps.Keys(files))
	if broad {
		if globs, rest := l.globs(dir, names, files, writing); len(globs) > 0 {
			alone, names = append(alone, globs...), rest
		}
	}
	for _, name := range names {
		alone = append(alone, place{path: name})
	}
	return alone
}

// globs groups names of a folder that is too broad to be granted: those that another object
// takes, or that no run would make again, with their nearest sibling; many of one ending.
func (l *lesson) globs(dir string, names []string, files map[string]*rules.Request, writing bool) (globs []place, rest []string) {
	done := map[string]bool{}
	for _, name := range names {
		base := path.Base(name)
		if done[name] || !writing || !takesName(files[name]) && !randomName(base) {
			continue
		}
		stem := stemOf(base)
		if len(strings.Trim(stem, ".-_")) < 2 {
			continue
		}
		for _, other := range names {
			if strings.HasPrefix(path.Base(other), stem) {
				done[other] = true
			}
		}
		globs = append(globs, place{path: dir, glob: true, prefix: stem})
	}
	byEnding := map[string][]string{}
	for _, name := range names {
		if end := path.Ext(name); !done[name] && !writing && end != "" && end != path.Base(name) {
			byEnding[end] = append(byEnding[end], name)
		}
	}
	for end, list := range byEnding {
		if len(list) <= 2*few {
			continue
		}
		globs = append(globs, place{path: dir, glob: true, suffix: end})
		for _, name := range list {
			done[name] = true
		}
	}
	for _, name := range names {
		if !done[name] {
			rest = append(rest, name)
		}
	}
	slices.SortFunc(globs, func(a, b place) int { return cmp.Compare(a.prefix+"\x00"+a.suffix, b.prefix+"\x00"+b.suffix) })
	return globs, rest
}

// stemOf is the part of a name that a second run would make again: up to the first random
// part, or an ending such as .lock or .tmp.
func stemOf(base string) string {
	for i := 1; i < len(base); i++ {
		switch {
		case strings.IndexByte(".-_", base[i]) < 0:
		case randomName(base[i:]):
			return base[:i+1]
		case slices.Contains([]string{".lock", ".tmp", ".new", ".bak"}, base[i:]):
			return base[:i]
		}
	}
	if randomName(base) {
		return strings.TrimRight(base[:len(base)-min(6, len(base)-1)], "0123456789")
	}
	return base
}

// randomName tells whether a part of a name looks like one of mkstemp(3) or of a process id:
// six or more letters and digits mixed, or five digits.
func randomName(base string) bool {
	digits, letters, upper, run := 0, 0, 0, 0
	flush := func() bool {
		odd := digits >= 5 && letters == 0 || run >= 6 && digits > 0 && letters > 0 || run >= 6 && upper > 1 && upper < letters
		digits, letters, upper, run = 0, 0, 0, 0
		return odd
	}
	for _, c := range base {
		switch {
		case '0' <= c && c <= '9':
			digits, run = digits+1, run+1
		case 'A' <= c && c <= 'Z':
			upper, letters, run = upper+1, letters+1, run+1
		case 'a' <= c && c <= 'z':
			letters, run = letters+1, run+1
		default:
			if flush() {
				return true
			}
		}
	}
	return flush()
}

// takesName: the rule for a name alone does not let another object take it.
func takesName(r *rules.Request) bool {
	switch r.Act {
	case rules.ActSymlink, rules.ActLinkTarget, rules.ActRenameTarget, rules.ActExchange, rules.ActMknod:
		return true
	}
	return false
}

// merge drops folders beneath others, and makes many siblings their parent.
func (l *lesson) merge(roots map[string]bool) {
	for {
		for root := range roots {
			for dir := path.Dir(root); len(dir) > 1; dir = path.Dir(dir) {
				if _, ok := roots[dir]; ok {
					delete(roots, root)
					break
				}
			}
		}
		siblings := map[string][]string{}
		for root := range roots {
			siblings[path.Dir(root)] = append(siblings[path.Dir(root)], root)
		}
		changed := false
		for dir, list := range siblings {
			if len(list) > few && !l.q.policy.Broad(dir) {
				roots[dir], changed = false, true
			}
		}
		if !changed {
			return
		}
	}
}

// items words grants, by tier.
func (l *lesson) items(places []place) []item {
	var out []item
	for _, p := range places {
		text := yamlWord(l.q.policy.Word(p.path))
		switch {
		case p.glob:
			text = yamlWord(l.q.policy.Word(p.path) + "/" + rules.EscapeGlob(p.prefix) + "*" + rules.EscapeGlob(p.suffix))
		case p.object:
			text = "{ file: " + text + " }"
		}
		in := p.path
		if p.glob {
			in += "/" + p.prefix
		}
		out = append(out, item{text, l.tier(in, p.tool)})
	}
	slices.SortStableFunc(out, func(a, b item) int { return cmp.Compare(slices.Index(tiers, a.tier), slices.Index(tiers, b.tier)) })
	return out
}

// programs is the whole list of exec.allow: one entry closes it.
func (l *lesson) programs() []item {
	byDir := map[string][]string{}
	for name := range l.execs {
		byDir[path.Dir(name)] = append(byDir[path.Dir(name)], name)
	}
	var out []item
	for _, dir := range slices.Sorted(maps.Keys(byDir)) {
		list := slices.Sorted(slices.Values(byDir[dir]))
		if len(list) > 8 {
			out = append(out, item{text: yamlWord(l.q.policy.Word(dir) + "/*")})
			continue
		}
		for _, name := range list {
			out = append(out, item{text: yamlWord(l.q.policy.Word(name))})
		}
	}
	return out
}

// address notes what an address rule would have to name.
func (l *lesson) address(flags map[string][]string, r *rules.Request) {
	d := l.q.policy.Decide(r)
	pairs, ok := fixWords(l.q.policy.Explain(r, d).Fix)
	if !ok {
		l.keep(r, r.Access, "no rule can name it", 1)
		return
	}
	for _, p := range pairs {
		list := fixLists()[p[0]][1]
		word := p[1]
		if r.Addr.IP.IsValid() && word != "@preset" && word != "@dns" {
			switch r.Addr.Proto {
			case rules.ProtoTCP:
				word = "tcp " + word
			case rules.ProtoUDP:
				word = "udp " + word
			case rules.ProtoOther:
			}
		}
		if !slices.Contains(flags[list], word) {
			flags[list] = append(flags[list], word)
		}
	}
}

// addresses collapses many hosts of one port, and many ports of one host.
func (l *lesson) addresses(words []string) []item {
	hosts := map[string][]string{} // "tcp \x00:443" -> words
	ports := map[string][]string{}
	for _, w := range words {
		proto, rest, found := strings.Cut(w, " ")
		at, err := netip.ParseAddrPort(rest)
		if !found || err != nil {
			continue
		}
		key := fmt.Sprintf("%s *:%d", proto, at.Port())
		hosts[key] = append(hosts[key], w)
		host := netip.AddrPortFrom(at.Addr(), 0).String()
		key = proto + " " + strings.TrimSuffix(host, ":0") + ":*"
		ports[key] = append(ports[key], w)
	}
	replaced := map[string]string{}
	for _, groups := range []map[string][]string{hosts, ports} {
		for key, list := range groups {
			if len(list) <= few+1 {
				continue
			}
			for _, w := range list {
				if replaced[w] == "" {
					replaced[w] = key
				}
			}
		}
	}
	var out []item
	seen := map[string]bool{}
	slices.SortFunc(words, func(a, b string) int {
		return cmp.Or(-cmp.Compare(btoi(a == "@preset"), btoi(b == "@preset")), cmp.Compare(a, b))
	})
	for _, w := range words {
		if r := replaced[w]; r != "" {
			w = r
		}
		if !seen[w] {
			seen[w] = true
			out = append(out, item{text: yamlWord(w)})
		}
	}
	return out
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// check reads the proposal as a policy and asks it for all that was wished: what it does
// not grant after all is told. A text that is no policy is never written.
func (l *lesson) check(name, text string) error {
	source, err := rules.Read(name, []byte(text))
	if err != nil {
		return fmt.Errorf("learn: the proposal is no policy (nothing was written): %w", err)
	}
	layers, err := rules.Layers(nil, []*rules.Source{source}, nil, readExtended)
	if err != nil {
		return err
	}
	p, err := rules.Compile(layers, l.q.machine.bound())
	if err != nil {
		return fmt.Errorf("learn: the proposal cannot be used here (nothing was written): %w", err)
	}
	for i := range l.wishes {
		w := &l.wishes[i]
		if d := p.Decide(&w.request); d.Refused() {
			l.keep(&w.request, d.Access, "no small rule grants it: "+p.Explain(&w.request, d).Reason, w.times)
		}
	}
	return nil
}

// number is "1 act", "2 acts".
func number(n uint64, word string) string {
	if n != 1 {
		word += "s"
	}
	return fmt.Sprintf("%d %s", n, word)
}

// report prints what was observed against what is granted.
func (l *lesson) report(out io.Writer, written bool, name string, changed bool) error {
	w := &strings.Builder{}
	var asked uint64
	for _, x := range l.wishes {
		asked += x.times
	}
	items := 0
	for _, a := range l.granted {
		items += len(a.items)
	}
	fmt.Fprintf(w, "ptguard: observed: %s that the policy grants", number(l.allowed, "act"))
	if asked > 0 {
		fmt.Fprintf(w, ", %d more on %s", asked, number(uint64(len(l.wishes)), "object"))
	}
	if items > 0 {
		fmt.Fprintf(w, "; %s:\n", number(uint64(items), "new line"))
	} else {
		w.WriteString("; no new line\n")
	}
	for _, a := range l.granted {
		for _, it := range a.items {
			tier := ""
			if it.tier != "" {
				tier = "   (" + it.tier + ")"
			}
			fmt.Fprintf(w, "ptguard:   %s.%s: %s%s\n", a.section, a.list, record.EscapeText(it.text), tier)
		}
	}
	if len(l.kept) > 0 {
		w.WriteString("ptguard: asked for, not granted:\n")
		for _, k := range l.kept {
			fmt.Fprintf(w, "ptguard:   %s   %s, %d×\n", record.Escape(k.what), record.EscapeText(k.why), k.times)
		}
	}
	if l.guards > 0 {
		fmt.Fprintf(w, "ptguard: refused by guards, which no policy lifts: %s\n", number(l.guards, "act"))
	}
	switch {
	case written && changed:
		fmt.Fprintf(w, "ptguard: wrote %s: review it, then: ptguard run -p %s -- …\n", record.Escape(name), record.Escape(name))
	case written:
		fmt.Fprintf(w, "ptguard: %s needs no change\n", record.Escape(name))
	}
	_, err := io.WriteString(out, w.String())
	return err
}
