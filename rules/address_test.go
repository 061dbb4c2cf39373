// SPDX-License-Identifier: Apache-2.0

package rules

import "testing"

// TestTransitionForms: an IPv6 address that leads to a v4 address does not dodge a deny of
// that address, and no rule about v4 loopback allows it.
func TestTransitionForms(t *testing.T) {
	t.Parallel()
	deny := compile(t, nil, "", FlagValues{Connect: []string{"*:*"}, DenyNet: []string{"10.0.0.0/8:*", "127.0.0.1:5432"}})
	loopback := compile(t, nil, "", FlagValues{})
	// 10.1.2.3 and 127.0.0.1 in each form (RFC 6052 2.4, RFC 8215, 3056, 4380, 5214, 2765, 4291).
	for _, form := range []struct{ ten, lo, other string }{
		{"64:ff9b::a01:203", "64:ff9b::7f00:1", "64:ff9b::b01:203"},
		{"64:ff9b:1::a01:203", "64:ff9b:1::7f00:1", "64:ff9b:1::b01:203"},
		{"64:ff9b:1:a01:2:300::", "64:ff9b:1:7f00:0:100::", "64:ff9b:1:b01:2:300::"},
		{"2002:a01:203::1", "2002:7f00:1::1", "2002:b01:203::1"},
		{"2001:0:a01:203::", "2001:0:7f00:1::", "2001:0:b01:203::"},
		{"2001:0:808:808:0:0:f5fe:fdfc", "2001:0:808:808:0:0:80ff:fffe", "2001:0:808:808:0:0:f4fe:fdfc"},
		{"fe80::5efe:a01:203", "fe80::5efe:7f00:1", "fe80::5efe:b01:203"},
		{"2001:db8::200:5efe:a01:203", "2001:db8::200:5efe:7f00:1", "2001:db8::200:5efe:b01:203"},
		{"::ffff:0:a01:203", "::ffff:0:7f00:1", "::ffff:0:b01:203"},
		{"::a01:203", "::7f00:1", "::b01:203"},
		{"::ffff:10.1.2.3", "", "::ffff:11.1.2.3"},
	} {
		verdicts(t, deny, "connect ["+form.ten+"]:443 => deny flag\nconnect ["+form.other+"]:443 => allow")
		if form.lo != "" { // the mapped form is loopback, and a loopback rule covers it
			verdicts(t, deny, "connect ["+form.lo+"]:5432 => deny flag\nconnect ["+form.lo+"]:80 => allow")
			verdicts(t, loopback, "connect ["+form.lo+"]:80 => deny mode\nbind ["+form.lo+"]:80 => deny mode")
		}
	}
}

// TestUnspecified: where a socket is bound decides what the unspecified address leads to,
// so a rule against any of these addresses counts.
func TestUnspecified(t *testing.T) {
	t.Parallel()
	verdicts(t, compile(t, nil, "", FlagValues{}), `
		connect 0.0.0.0:80 => allow
		connect [::]:80 => allow
		connect [::ffff:0.0.0.0]:80 => allow
		bind 0.0.0.0:80 => deny
		bind [::]:80 => deny
		bind [::ffff:0.0.0.0]:80 => deny`)
	verdicts(t, compile(t, nil, "", FlagValues{DenyNet: []string{"127.0.0.1:5432"}}), `
		connect 0.0.0.0:5432 => deny flag
		connect [::]:5432 => deny flag
		connect [::]:80 => allow
		connect [::1]:5432 => allow`)
	verdicts(t, compile(t, nil, "", FlagValues{DenyNet: []string{"[::1]:5432", "127.1.0.0/16:99"}}), `
		connect [::]:5432 => deny flag
		connect 0.0.0.0:99 => deny flag
		connect 127.0.0.1:5432 => allow`)
	verdicts(t, compile(t, nil, "", FlagValues{Connect: []string{"[::1]:80"}}), `
		connect [::1]:80 => allow
		connect [::]:80 => allow
		connect 0.0.0.0:80 => deny`)
	verdicts(t, compile(t, nil, "", FlagValues{Connect: []string{"127.0.0.1:80"}}), `
		connect 0.0.0.0:80 => allow
		connect [::]:80 => deny
		connect [::ffff:127.0.0.1]:80 => allow`)
}

// TestOwnLinks: mode strict lets a program read the links that lead to its own files.
func TestOwnLinks(t *testing.T) {
	t.Parallel()
	verdicts(t, compile(t, []string{"strict"}, "", FlagValues{}), `
		look /proc/self => allow builtin
		look /proc/thread-self => allow builtin
		look /dev/fd => allow builtin
		look /dev/stdin => allow builtin
		look /proc/selfish => deny
		list /proc/self => deny`)
}
