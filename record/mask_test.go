// SPDX-License-Identifier: Apache-2.0

package record

import (
	"reflect"
	"strings"
	"testing"
)

func TestMaskArgv(t *testing.T) {
	const gh = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	for _, c := range []struct{ in, want string }{ // arguments separated by |
		// left alone
		{"cat|/etc/hosts", "cat|/etc/hosts"},
		{"mkdir|-p|a/b", "mkdir|-p|a/b"},
		{"cp|-pr|a|b", "cp|-pr|a|b"},
		{"ssh|-p|2222|host", "ssh|-p|2222|host"},
		{"docker|run|-p|80:80|nginx", "docker|run|-p|80:80|nginx"},
		{"x|--token-file=/run/t", "x|--token-file=/run/t"},
		{"x|--password-stdin|y", "x|--password-stdin|y"},
		{"x|--no-password|db", "x|--no-password|db"},
		{"llm|--max-tokens=100", "llm|--max-tokens=100"},
		{"env|PWD=/home/me|ls", "env|PWD=/home/me|ls"},
		{"git|commit|-m|token: fix the parser", "git|commit|-m|token: fix the parser"},
		{"curl|https://example.org/a:b@c", "curl|https://example.org/a:b@c"},
		{"git|clone|git@github.com:me/x.git", "git|clone|git@github.com:me/x.git"},
		{"curl|-u|me", "curl|-u|me"},
		{"mysql|-p|db", "mysql|-p|db"},
		{"mysql|-P|3306", "mysql|-P|3306"},
		{"sh|-c|deploy --token=$TOKEN", "sh|-c|deploy --token=$TOKEN"},
		// names that say so
		{"x|--token=abc", "x|--token=***"},
		{"x|--token|abc|y", "x|--token|***|y"},
		{"x|--password|hunter2", "x|--password|***"},
		{"x|--password|--host|h", "x|--password|--host|h"},
		{"x|-password=hunter2", "x|-password=***"},
		{"x|--api-key=abc|--apiKey=abc|--client_secret=abc", "x|--api-key=***|--apiKey=***|--client_secret=***"},
		{"x|--token=", "x|--token=***"},
		{"env|PGPASSWORD=x y|AWS_SECRET_ACCESS_KEY=abc/def+|psql", "env|PGPASSWORD=*** y|AWS_SECRET_ACCESS_KEY=***|psql"},
		{"docker|run|-e|GITHUB_TOKEN=abc|i", "docker|run|-e|GITHUB_TOKEN=***|i"},
		{"java|-Djavax.net.ssl.keyStorePassword=changeit|-jar|a", "java|-Djavax.net.ssl.keyStorePassword=***|-jar|a"},
		{"npm|config|set|//registry.npmjs.org/:_authToken=abc", "npm|config|set|//registry.npmjs.org/:_authToken=***"},
		// well-known programs
		{"mysql|-uroot|-phunter2|db", "mysql|-uroot|-p***|db"},
		{"sudo|/usr/bin/mysqldump|-phunter2", "sudo|/usr/bin/mysqldump|-p***"},
		{"sshpass|-p|hunter2|ssh|h", "sshpass|-p|***|ssh|h"},
		{"sshpass|-phunter2|ssh|h", "sshpass|-p***|ssh|h"},
		{"redis-cli|-a|x", "redis-cli|-a|***"},
		{"curl|-u|me:pw|http://h", "curl|-u|me:***|http://h"},
		{"curl|-ume:pw|--user=a:b|--proxy-user|c:d", "curl|-ume:***|--user=a:***|--proxy-user|c:***"},
		{"smbclient|-U|me%pw", "smbclient|-U|me%***"},
		// headers, URLs, tokens
		{"curl|-H|Authorization: Bearer abcdef", "curl|-H|Authorization: ***"},
		{"curl|-H|X-Api-Key: abc", "curl|-H|X-Api-Key: ***"},
		{"curl|--header=Cookie: s=1; t=2", "curl|--header=Cookie: ***"},
		{"sh|-c|curl -H 'authorization: token abc' http://h/x", "sh|-c|curl -H 'authorization: ***' http://h/x"},
		{"x|Bearer abcdefgh.ijkl", "x|Bearer ***"},
		{"git|clone|https://me:pw@host/x.git", "git|clone|https://me:***@host/x.git"},
		{"git|clone|https://me:p@w@host/x.git", "git|clone|https://me:***@host/x.git"},
		{"psql|postgres://u:pw@h:5432/db?sslmode=off", "psql|postgres://u:***@h:5432/db?sslmode=off"},
		{"git|clone|https://" + gh + "@github.com/x", "git|clone|https://***@github.com/x"},
		{"x|" + gh, "x|***"},
		{"x|AKIAIOSFODNN7EXAMPLE", "x|***"},
		{"x|sk-proj-abcdefghijklmnop", "x|***"},
		{"x|eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "x|***"},
		{"curl|http://h/?a=1&access_token=abc&b=2", "curl|http://h/?a=1&access_token=***&b=2"},
		{`curl|-d|{"password": "pw", "n": 1}`, `curl|-d|{"password": ***, "n": 1}`},
		{"sh|-c|PASSWORD='a b' x; TOKEN=abc y", "sh|-c|PASSWORD=*** x; TOKEN=*** y"},
		{"x|-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blbn", "x|-----BEGIN OPENSSH PRIVATE KEY-----***"},
	} {
		in := strings.Split(c.in, "|")
		keep := append([]string(nil), in...)
		got := MaskArgv(in)
		if want := strings.Split(c.want, "|"); !reflect.DeepEqual(got, want) {
			t.Errorf("MaskArgv(%q)\n got %q\nwant %q", in, got, want)
		}
		if !reflect.DeepEqual(in, keep) {
			t.Errorf("MaskArgv changed its argument %q", keep)
		}
	}
}
