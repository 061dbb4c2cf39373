// SPDX-License-Identifier: Apache-2.0

package record

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Mask is what stands for a secret in the trace.
const Mask = "***"

// MaskArgv returns argv with well-known secrets replaced by Mask: values of options and
// variables whose name says so (--token=X, --password X, PGPASSWORD=X), password options
// of well-known programs (mysql -pX, curl -u NAME:X), credentials in URLs and headers, and
// tokens whose form is published (AWS, GitHub, GitLab, Slack, OpenAI and others, JWTs,
// private keys). It is a courtesy, not a guarantee: a secret that nothing marks as such
// stays. argv itself is not changed; without a secret it is returned as it is.
func MaskArgv(argv []string) []string {
	var out []string // nil until something changed
	set := func(i int, s string) {
		if s == argv[i] {
			return
		}
		if out == nil {
			out = append([]string(nil), argv...)
		}
		out[i] = s
	}
	var opts map[string]secretOption
	for i := 0; i < len(argv); i++ {
		arg := argv[i]
		if o, ok := programOptions()[path.Base(arg)]; ok && !strings.HasPrefix(arg, "-") {
			opts = o // also behind sudo, env, timeout
		}
		if name, ok := matchOption(opts, arg); ok {
			how := opts[name]
			switch {
			case len(arg) > len(name):
				set(i, name+maskValue(arg[len(name):], how))
			case i+1 < len(argv) && how != attachedOnly:
				i++
				set(i, maskValue(argv[i], how))
			}
			continue
		}
		if strings.HasPrefix(arg, "-") {
			name, _, hasValue := strings.Cut(arg, "=")
			if isSecretName(name) {
				switch {
				case hasValue:
					set(i, name+"="+Mask)
				case i+1 < len(argv) && !strings.HasPrefix(argv[i+1], "-"):
					i++
					set(i, Mask)
				}
				continue
			}
		}
		set(i, MaskText(arg))
	}
	if out == nil {
		return argv
	}
	return out
}

// secretOption says where in an option's value the secret is.
type secretOption int

const (
	wholeValue   secretOption = iota
	afterColon                // NAME:SECRET
	afterPercent              // NAME%SECRET
	attachedOnly              // the value can only follow in the same argument
)

var (
	mysqlOptions = map[string]secretOption{"-p": attachedOnly}
	zipOptions   = map[string]secretOption{"-P": wholeValue}
	ldapOptions  = map[string]secretOption{"-w": wholeValue}
	curlOptions  = map[string]secretOption{"-u": afterColon, "--user": afterColon, "-U": afterColon, "--proxy-user": afterColon}
)

// programOptions lists, by base name, the options that no general rule can tell from
// harmless ones of other programs.
var programOptions = sync.OnceValue(func() map[string]map[string]secretOption {
	return map[string]map[string]secretOption{
		"mysql": mysqlOptions, "mysqldump": mysqlOptions, "mysqladmin": mysqlOptions, "mysqlimport": mysqlOptions,
		"mysqlshow": mysqlOptions, "mariadb": mysqlOptions, "mariadb-dump": mysqlOptions, "mariadb-admin": mysqlOptions,
		"sshpass":   {"-p": wholeValue},
		"redis-cli": {"-a": wholeValue},
		"curl":      curlOptions,
		"smbclient": {"-U": afterPercent},
		"zip":       zipOptions, "unzip": zipOptions,
		"7z": {"-p": attachedOnly}, "7za": {"-p": attachedOnly},
		"ldapsearch": ldapOptions, "ldapmodify": ldapOptions, "ldapadd": ldapOptions, "ldapwhoami": ldapOptions,
	}
})

// matchOption finds the option that arg is, or begins with when its value is attached.
func matchOption(opts map[string]secretOption, arg string) (string, bool) {
	if len(arg) < 2 || arg[0] != '-' || opts == nil {
		return "", false
	}
	if arg[1] == '-' {
		if name, _, ok := strings.Cut(arg, "="); ok {
			if _, known := opts[name]; known {
				return name, true
			}
		}
		_, ok := opts[arg]
		return arg, ok
	}
	_, ok := opts[arg[:2]]
	return arg[:2], ok
}

func maskValue(v string, how secretOption) string {
	eq := ""
	if strings.HasPrefix(v, "=") {
		eq, v = "=", v[1:]
	}
	sep := map[secretOption]string{afterColon: ":", afterPercent: "%"}[how]
	if sep == "" {
		return eq + Mask
	}
	if name, _, ok := strings.Cut(v, sep); ok {
		return eq + name + sep + Mask
	}
	return eq + v // a user name alone: the program asks for the rest
}

// secretWords name a secret wherever they stand in a name, secretEnds only at the end of
// one of its parts (max-tokens is none), secretParts only as a whole part.
var (
	secretWords = []string{"password", "passwd", "passphrase", "secret", "apikey", "api-key", "access-key", "credential"}
	secretEnds  = []string{"token"}
	secretParts = []string{"pass", "auth", "authorization"}
	harmless    = map[string]bool{"file": true, "path": true, "stdin": true, "fd": true, "env": true, "name": true, "id": true, "url": true, "command": true, "type": true, "callback": true}
)

// isSecretName tells whether an option or variable of this name holds a secret itself
// (not the name of a file that does).
func isSecretName(name string) bool {
	name = strings.TrimLeft(name, "-")
	name = strings.ToLower(strings.NewReplacer("_", "-", ".", "-").Replace(name))
	if name == "" || strings.HasPrefix(name, "no-") {
		return false
	}
	parts := strings.Split(name, "-")
	if harmless[parts[len(parts)-1]] {
		return false
	}
	for _, w := range secretWords {
		if strings.Contains(name, w) {
			return true
		}
	}
	for _, p := range parts {
		for _, w := range secretEnds {
			if strings.HasSuffix(p, w) {
				return true
			}
		}
		if slices.Contains(secretParts, p) {
			return true
		}
	}
	return false
}

// lazy compiles an expression when it is first used: most runs refuse nothing, and a start
// should not pay for them.
func lazy(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

var (
	// A name, = or :, a value; the name is judged by isSecretName.
	assignment = lazy(`([A-Za-z][A-Za-z0-9_.-]*)(["']?[ \t]*[=:][ \t]*)("[^"]*"|'[^']*'|[^\s"'&;|,})]+)`)
	// Headers whose whole value is a credential.
	header = lazy(`(?i)\b((?:proxy-)?authorization|(?:set-)?cookie|private-token|job-token|x-(?:[a-z0-9]+-)*(?:key|token|secret))([ \t]*:[ \t]*)([^\r\n"']+)`)
	bearer = lazy(`(?i)\b(bearer|basic)([ \t]+)[A-Za-z0-9._~+/=-]{8,}`)
	// scheme://NAME:SECRET@; the secret may hold an @, not a slash.
	userinfo = lazy(`([A-Za-z][A-Za-z0-9+.-]*://[^\s/@:"']*):[^\s/"']*@`)
	// Tokens with a published form.
	token = lazy(`\b(?:` + strings.Join([]string{
		`(?:AKIA|ASIA)[0-9A-Z]{16}`,
		`gh[pousr]_[A-Za-z0-9]{16,}`,
		`github_pat_[A-Za-z0-9_]{20,}`,
		`glpat-[A-Za-z0-9_-]{16,}`,
		`sk-[A-Za-z0-9_-]{16,}`,
		`[sr]k_(?:live|test)_[A-Za-z0-9]{16,}`,
		`xox[abeoprs]-[A-Za-z0-9-]{10,}`,
		`AIza[0-9A-Za-z_-]{35}`,
		`npm_[A-Za-z0-9]{30,}`,
		`pypi-[A-Za-z0-9_-]{50,}`,
		`hf_[A-Za-z0-9]{20,}`,
		`dop_v1_[0-9a-f]{32,}`,
		`eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`,
	}, "|") + `)`)
	privateKey = lazy(`(?s)(-----BEGIN [A-Z ]*PRIVATE KEY-----).*`)
)

// MaskText masks what MaskArgv would mask inside one argument, such as a shell script.
func MaskText(s string) string {
	if len(s) < 20 && !strings.ContainsAny(s, "=: ") {
		return s // a file name or a short option; no token is that short
	}
	if strings.Contains(s, "PRIVATE KEY-----") {
		s = privateKey().ReplaceAllString(s, "${1}"+Mask)
	}
	if strings.Contains(s, "://") {
		s = userinfo().ReplaceAllString(s, "${1}:"+Mask+"@")
	}
	if strings.Contains(s, ":") {
		s = header().ReplaceAllString(s, "${1}${2}"+Mask)
	}
	s = bearer().ReplaceAllString(s, "${1}${2}"+Mask)
	s = token().ReplaceAllString(s, Mask)
	if strings.ContainsAny(s, "=:") {
		s = maskAssignments(s)
	}
	return s
}

func maskAssignments(s string) string {
	var out []byte
	last := 0
	for _, m := range assignment().FindAllStringSubmatchIndex(s, -1) {
		name, sep, value := s[m[2]:m[3]], s[m[4]:m[5]], s[m[6]:m[7]]
		// "token: unexpected" is prose and "secret://" a scheme; a colon counts only
		// after a quoted key, as in JSON.
		if !isSecretName(strings.TrimPrefix(name, "D")) && !isSecretName(name) || strings.HasPrefix(value, "$") {
			continue
		}
		if strings.Contains(sep, ":") && !strings.HasPrefix(sep, `"`) && !strings.HasPrefix(sep, "'") {
			continue
		}
		out = append(out, s[last:m[6]]...)
		out = append(out, Mask...)
		last = m[7]
	}
	if out == nil {
		return s
	}
	return string(append(out, s[last:]...))
}
