// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"math/rand/v2"
	"net/netip"
	"syscall"
	"testing"

	"ptguard/decode"
)

// The explained answer is the answer, and its steps tell the whole of it: they are in
// order, a refusal names its rule, and what is allowed was granted by them.
func TestExplainedIsDecided(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	refused := 0
	for range 300 {
		preset := []string{"permissive", "strict"}[r.IntN(2)]
		p, err := tryCompile([]string{preset}, "", randomFlags(r), machine())
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			q := randomRequest(r)
			want := p.Decide(q)
			got, steps := p.DecideExplained(q)
			if got != want {
				t.Fatalf("%+v: decided %+v, explained as %+v", q, want, got)
			}
			decides, granted, order := 0, decode.Access(0), 0
			for _, s := range steps {
				if s.Order < order || StepName(s.Order) == "" {
					t.Errorf("%+v: step %d after %d", q, s.Order, order)
				}
				order = s.Order
				if s.Effect == Grants {
					granted |= s.Access
				}
				if s.Decides {
					decides++
					if s.Rule != want.Rule || (s.Effect == Grants) == want.Refused() {
						t.Errorf("%+v: %s %s is said to decide, %s does", q, s.Rule.Pos, s.Effect, want.Rule.Pos)
					}
				}
			}
			if want.Refused() {
				refused++
			}
			if decides == 0 || !want.Refused() && q.Access&^decode.Exec&^granted != 0 {
				t.Errorf("%+v (%+v, rule %s): the steps do not tell why: %+v", q, want, want.Rule.Pos, steps)
			}
		}
	}
	if refused < 500 {
		t.Errorf("only %d refusals: the test sees too little", refused)
	}
}

func TestChain(t *testing.T) {
	policy := "files:\n  read:  [ ~/.aws ]\n  deny:  [ { path: ./a, reason: \"not yours\" } ]\nnet:\n  deny: [ \"10.0.0.1:*\" ]\n"
	p := compile(t, nil, policy, FlagValues{Write: []string{"/srv"}})
	type step struct {
		order  int
		pos    string // of the rule, "" for none
		effect Effect
	}
	for _, c := range []struct {
		request Request
		verdict Verdict
		steps   []step
		source  string // of the deciding rule
	}{
		{
			Request{Access: decode.Write, File: world.file("/home/me/p/a/secret")},
			Deny,
			[]step{{1, "", Nothing}, {5, "policy.yaml:4:20", Refuses}},
			`deny:  [ { path: ./a, reason: "not yours" } ]`,
		},
		{
			Request{Access: decode.Read, File: world.file("/home/me/.aws/credentials")},
			Allow,
			[]step{{1, "", Nothing}, {5, "", Nothing}, {6, "policy.yaml:3:12", Grants}, {7, "preset permissive: ~/.aws", Lifted}},
			"read:  [ ~/.aws ]",
		},
		{
			Request{Access: decode.Write, File: world.file("/home/me/.aws/credentials")},
			Deny,
			[]step{{1, "", Nothing}, {5, "", Nothing}, {6, "policy.yaml:3:12", Grants}, {7, "preset permissive: ~/.aws", Refuses}},
			"",
		},
		{
			Request{Access: decode.Read, File: world.file("/opt/data/x")},
			Allow,
			[]step{{1, "", Nothing}, {5, "", Nothing}, {6, "", Nothing}, {7, "", Nothing}, {8, "", Nothing}, {10, "mode permissive", Grants}},
			"",
		},
		{
			Request{Access: decode.Connect, Addr: Addr{Family: syscall.AF_INET, IP: netip.MustParseAddr("10.0.0.1"), Port: 5, Proto: ProtoTCP}},
			Deny,
			[]step{{1, "", Nothing}, {5, "policy.yaml:6:11", Refuses}},
			`deny: [ "10.0.0.1:*" ]`,
		},
	} {
		d, steps := p.DecideExplained(&c.request)
		if d.Verdict != c.verdict || c.source != "" && d.Rule.Source != c.source {
			t.Errorf("%+v: %+v by %s %q, want %v by %q", c.request, d, d.Rule.Pos, d.Rule.Source, c.verdict, c.source)
		}
		var got []step
		for _, s := range steps {
			pos := ""
			if s.Rule != nil {
				pos = s.Rule.Pos
			}
			got = append(got, step{s.Order, pos, s.Effect})
		}
		if len(got) != len(c.steps) {
			t.Errorf("%+v: steps %+v, want %+v", c.request, got, c.steps)
			continue
		}
		for i := range got {
			if got[i] != c.steps[i] {
				t.Errorf("%+v: step %+v, want %+v", c.request, got[i], c.steps[i])
			}
		}
	}
}
