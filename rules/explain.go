// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"ptguard/decode"
)

// Explain puts a decision into words: why, what to do, and what to paste.
func (p *Policy) Explain(r *Request, d Decision) Explanation {
	if d.by != nil {
		p = d.by
	}
	if d.Rule == nil {
		d.Rule = guardEmpty
	}
	e := Explanation{Rule: d.Rule.Pos, Layer: string(d.Rule.Layer), Reason: d.Rule.Reason, Hint: d.Rule.Hint}
	if !d.Refused() {
		if e.Reason == "" {
			e.Reason = allowReason(d.Rule, p.mode)
		}
		return e
	}
	reason, hint := p.why(r, d)
	if e.Reason == "" {
		e.Reason = reason
	}
	if e.Hint == "" {
		e.Hint = hint
	}
	if d.Rule.Layer != LayerGuard && d.Rule.fix != "-" {
		e.Fix = p.fix(r, d)
	}
	return e
}

func allowReason(rule *Rule, mode string) string {
	switch rule.Layer {
	case LayerMode:
		if mode == ModeOpen {
			return "mode open allows all but guards and seals"
		}
		return "mode " + mode + " allows reading"
	}
	return fmt.Sprintf("%s %s allows it", rule.Verb, rule.Text)
}

// why gives the reason and hint of a refusal whose rule has none of its own.
func (p *Policy) why(r *Request, d Decision) (reason, hint string) {
	rule := d.Rule
	if rule.Layer == LayerGuard {
		return rule.Reason, "no rule can allow this"
	}
	if rule == ruleFamilies {
		return "sockets of family " + FamilyName(r.Addr.Family) + " are not supported", "supported are unix, inet, inet6 and netlink-route"
	}
	net := r.Access&(decode.Connect|decode.Bind) != 0
	if rule.denies() {
		reason = fmt.Sprintf("%s %s covers it", rule.Verb, rule.Text)
		if (r.Act == ActRenameSource || r.Act == ActExchange) && r.File.Path != "" && len(rule.Paths) > 0 && beneath(r.File.Path, rule.Paths[0]) {
			reason = fmt.Sprintf("%s %s lies beneath this directory and would be dodged by renaming it", rule.Verb, rule.Text)
		}
		hint = "an allow cannot lift this; change the rule at " + rule.Pos
		switch flag, ok := strings.CutPrefix(rule.Pos, "flag "); {
		case ok:
			hint = "an allow cannot lift this; drop " + strings.TrimSpace(flag+" "+quote(rule.Text))
			if rule == p.noExec {
				hint = "an allow cannot lift this; drop " + flag
			}
		case rule.Layer == LayerPreset:
			hint = "only a rule that names " + rule.Text + ", or a path beneath it, lifts this"
		}
		return reason, hint
	}
	switch {
	case net && !r.pathSocket():
		return p.whyAddress(r)
	case d.Access&decode.Exec != 0:
		return p.whyExec(r, rule)
	case d.Access&(decode.Change|decode.Connect|decode.Bind) != 0:
		reason = "outside the writable roots"
		if net {
			reason = "the socket lies outside the writable roots and no net rule names it"
		} else if p.rootItself(&r.File) {
			return "nothing but a directory made by mkdir may take the name of a writable root",
				"another object may take it only where the folder above is writable; or change the file in place"
		}
		return reason, "writable here: " + strings.Join(p.hintRoots(), ", ")
	case r.File.isDevice():
		return "this device is not one that everybody may use, and no rule names it", "name it in a read or write rule"
	case rule == p.fence:
		return rule.Reason, p.freeHere()
	case p.mode == ModeStrict:
		return "outside the readable roots of mode strict", "grant it for reading, or use mode permissive"
	}
	return "mode " + p.mode + " reads regular files, directories, links and FIFOs only", "name it in a read rule"
}

func (p *Policy) rootItself(f *File) bool {
	return slices.Contains(p.writable, f.Path)
}

// hintRoots are the writable roots that a person wants to hear of: not those beneath
// another one.
func (p *Policy) hintRoots() []string {
	const most = 8
	var out []string
	for i, root := range p.writable {
		nested := slices.ContainsFunc(p.writable, func(dir string) bool { return beneath(dir, root) })
		if !nested && slices.Index(p.writable, root) == i {
			out = append(out, root)
		}
	}
	switch {
	case len(out) == 0:
		return []string{"nothing"}
	case len(out) > most:
		return append(out[:most], fmt.Sprintf("and %d more", len(out)-most))
	}
	return out
}

func (p *Policy) whyAddress(r *Request) (reason, hint string) {
	if r.Access&decode.Bind != 0 {
		if ip := plainIP(r.Addr.IP); ip.IsValid() && ip.IsUnspecified() {
			return fmt.Sprintf("%s means every interface, and no net.bind rule names it", ip),
				"listen on 127.0.0.1 instead, or name every interface"
		}
		return "no net.bind rule covers this address", p.addressHint("bindable", decode.Bind)
	}
	if r.Addr.Abstract != "" {
		return "the abstract socket was not made by this tree and no net.connect rule names it", p.addressHint("connectable", decode.Connect)
	}
	return "no net.connect rule covers this address", p.addressHint("connectable", decode.Connect)
}

// addressHint lists what may be used, and says that a first rule of one's own replaces
// the preset's.
func (p *Policy) addressHint(word string, access decode.Access) string {
	hint := word + " here: " + p.addresses(access)
	if p.presetAddresses(access) {
		hint += " (a rule of your own replaces these; @preset keeps them)"
	}
	return hint
}

// presetAddresses tells whether the preset's net.connect or net.bind still holds: a first
// rule of one's own would replace it.
func (p *Policy) presetAddresses(access decode.Access) bool {
	return slices.ContainsFunc(p.net, func(n netRule) bool { return n.role == roleBaseAllow && n.access&access != 0 })
}

// addresses lists the net rules that allow.
func (p *Policy) addresses(access decode.Access) string {
	var out []string
	for i := range p.net {
		n := &p.net[i]
		if n.access&access != 0 && !n.role.denies() && indexOf(out, n.rule.Text) < 0 {
			out = append(out, n.rule.Text)
		}
	}
	if len(out) == 0 {
		return "nothing"
	}
	if len(out) > 8 {
		out = append(out[:8], fmt.Sprintf("and %d more", len(out)-8))
	}
	return strings.Join(out, ", ")
}

func (p *Policy) whyExec(r *Request, rule *Rule) (reason, hint string) {
	switch {
	case r.File.Nameless:
		return "a program without a name in the file system", "exec.allow: [memfd] allows these, and closes the list of programs"
	case rule == p.closed && !r.Program:
		return "the exec.allow list is closed and does not name this interpreter", "name the final file of every program, and of every interpreter of a script, in exec.allow"
	case rule == p.closed:
		return "the exec.allow list is closed and does not name this program", "name the final file of every program in exec.allow"
	case p.mode == ModeStrict:
		return "mode strict executes the command, the system's programs, and files beneath @work and @tmp", "an exec.allow list replaces this: name every program"
	}
	return "the program may not be read, so it may not be executed", "permissive executes regular files that may be read"
}

// fix is the smallest flag that would allow a refused act; "" if no flag can.
func (p *Policy) fix(r *Request, d Decision) string {
	rule := d.Rule
	if rule.denies() && rule.Layer != LayerPreset || rule == p.noExec {
		return ""
	}
	file := r.File.Path
	switch {
	case r.Access&(decode.Connect|decode.Bind) != 0:
		return p.fixAddress(r)
	case d.Access&decode.Exec != 0 && rule.Layer != LayerPreset:
		if r.File.Nameless {
			return "--allow-exec memfd"
		}
		return "--allow-exec " + quote(file)
	case file == "":
		return ""
	case rule.Layer == LayerPreset:
		// What was refused may lie beneath a rename or a glob: name the object.
		switch {
		case d.Access&decode.Change == 0:
			return "--read " + quote(p.tilde(file))
		case takesName(r):
			return ""
		}
		return "--write " + quote(p.tilde(file))
	case d.Access&decode.Change != 0:
		return p.fixWrite(r)
	}
	return "--read " + quote(p.tilde(file))
}

// Refusal is the flag that would refuse an act that is allowed; "" if none can.
func (p *Policy) Refusal(r *Request) string {
	s := &r.Addr
	switch {
	case p.mode == ModeOpen || r.Access&decode.Reach != 0:
		return ""
	case r.Access&(decode.Connect|decode.Bind) != 0 && r.pathSocket():
		return "--deny-net " + quote("unix "+p.tilde(r.File.Path))
	case r.Access&(decode.Connect|decode.Bind) != 0 && s.Abstract != "":
		return "--deny-net " + quote("unix @"+escapeGlob(s.Abstract))
	case r.Access&(decode.Connect|decode.Bind) != 0 && s.IP.IsValid():
		return "--deny-net " + quote(netip.AddrPortFrom(plainIP(s.IP), s.Port).String())
	case r.File.Path == "":
		return ""
	case r.Access == decode.Look:
		return "--hide " + quote(p.tilde(r.File.Path))
	case r.Access&decode.Exec != 0:
		return "--deny-exec " + quote(p.tilde(r.File.Path))
	}
	return "--deny " + quote(p.tilde(r.File.Path))
}

// fixWrite is the smallest folder or file that makes the act work.
func (p *Policy) fixWrite(r *Request) string {
	grant := p.toolFolder(r.File.Path, r.Comm)
	if grant == r.File.Path && takesName(r) {
		// The rule for a name does not let another object take it.
		grant = path.Dir(grant)
		if grant == "/" || slices.ContainsFunc(p.homes, func(home string) bool { return contains(grant, home) }) {
			return ""
		}
	}
	return "--write " + quote(p.tilde(grant))
}

// takesName tells whether the act puts another object in the place of a name, which only
// a rule for the folder above allows.
func takesName(r *Request) bool {
	switch r.Act {
	case ActSymlink, ActLinkTarget, ActRenameTarget, ActExchange, ActMknod:
		return true
	}
	return false
}

func (p *Policy) fixAddress(r *Request) string {
	flag, access := "--connect ", decode.Connect
	if r.Access&decode.Bind != 0 {
		flag, access = "--bind ", decode.Bind
	}
	if p.presetAddresses(access) {
		flag += "@preset " + flag
	}
	s := &r.Addr
	switch {
	case r.pathSocket():
		return flag + quote("unix "+p.tilde(r.File.Path))
	case s.Family == syscall.AF_UNIX && s.Abstract != "":
		return flag + quote("unix @"+escapeGlob(s.Abstract))
	case s.Family != syscall.AF_INET && s.Family != syscall.AF_INET6 || !s.IP.IsValid():
		return ""
	}
	ip := plainIP(s.IP)
	if r.Access&decode.Bind != 0 && ip.IsUnspecified() {
		return flag + quote(fmt.Sprintf("*:%d", s.Port))
	}
	if r.Access&decode.Connect != 0 {
		ip = connectIP(ip)
		if s.Port == 53 && slices.Contains(p.machine.Nameservers, ip) {
			return flag + "@dns"
		}
	}
	return flag + quote(netip.AddrPortFrom(ip, s.Port).String())
}

// home gives the home that a path lies beneath, "" if none.
func (p *Policy) home(path string) string {
	for _, dir := range p.homes {
		if dir != "/" && beneath(dir, path) {
			return dir
		}
	}
	return ""
}

// tilde writes a path beneath home with ~, as people do; not where $HOME is another home
// than the password file's, for a shell and a policy file would read it differently.
func (p *Policy) tilde(path string) string {
	path = escapeGlob(path)
	if len(p.machine.homes(false)) > 1 {
		return path
	}
	if home := p.home(path); home != "" {
		return "~/" + strings.TrimLeft(path[len(home):], "/")
	}
	return path
}

// escapeGlob makes a name a pattern for it. What a pattern may not hold (`$`, control
// characters), or a policy file cannot (bytes that are not UTF-8), becomes `?`.
func escapeGlob(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case strings.IndexByte(`*?[]{}\`, c) >= 0:
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '$' || c < 0x20 || c == 0x7f:
			b.WriteByte('?')
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(name[i:])
			if i += size - 1; r == utf8.RuneError && size == 1 {
				b.WriteByte('?')
			} else {
				b.WriteRune(r)
			}
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// quote makes a word safe to paste into a shell; what needs no quotes gets none. A
// leading ~/ stays outside the quotes: both the shell and ptguard know it.
func quote(word string) string {
	plain := word != ""
	for i := 0; i < len(word) && plain; i++ {
		c := word[i]
		plain = c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' ||
			strings.IndexByte("/._-+:,@%=", c) >= 0 || c == '~' && i == 0 && (len(word) == 1 || word[1] == '/')
	}
	if plain {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
