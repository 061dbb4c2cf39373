// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// quickRun reads the command line of a run without the parser, whose model of all commands
// and flags takes milliseconds to build, a good part of a start. ok is false for whatever it
// does not know for sure: another command, a mistake, help, a kind of flag that is not often
// used. The parser reads those, so that what is accepted and what is said stays its matter; a
// test compares the two.
//
// It goes by the tags of runCmd: names, defaults, enum, env.
func quickRun(args []string) (c *runCmd, ok bool) {
	if len(args) == 0 || args[0] != "run" {
		return nil, false
	}
	c = new(runCmd)
	flags := quickFlags{set: map[string]bool{}}
	if !flags.add(reflect.ValueOf(c).Elem()) {
		return nil, false
	}
	for i := 1; i < len(args); i++ {
		word := args[i]
		if word == "--" || !strings.HasPrefix(word, "-") {
			c.Command = args[i:]
			return c, len(args[i:]) > 1 || word != "--" && word != ""
		}
		name, value, inWord := strings.Cut(word, "=")
		f := flags.find(name)
		if f == nil || flags.set[f.field] && f.value.Kind() != reflect.Slice {
			return nil, false
		}
		flags.set[f.field] = true
		if f.value.Kind() == reflect.Bool {
			if inWord {
				return nil, false
			}
			f.value.SetBool(true)
			continue
		}
		if inWord && !strings.HasPrefix(word, "--") {
			return nil, false
		}
		if !inWord {
			if i++; i == len(args) || strings.HasPrefix(args[i], "-") {
				return nil, false
			}
			value = args[i]
		}
		if value == "" || !utf8.ValidString(value) || !f.take(value) {
			return nil, false
		}
	}
	return nil, false // no program
}

// quickFlag is a flag whose value is true, a text, or several texts.
type quickFlag struct {
	field string
	value reflect.Value
	tag   reflect.StructTag
}

type quickFlags struct {
	known []quickFlag
	set   map[string]bool // by field
}

// add lists the flags of a struct and gives them their defaults. false: the environment sets
// one, or a default is none that it knows.
func (f *quickFlags) add(s reflect.Value) bool {
	all := s.Type()
	for i := range s.NumField() {
		field, value := all.Field(i), s.Field(i)
		if field.Anonymous {
			if !f.add(value) {
				return false
			}
			continue
		}
		tag := field.Tag
		if _, arg := tagged(tag, `arg:"`); arg {
			continue
		}
		if env, _ := tagged(tag, `env:"`); env != "" {
			if _, there := os.LookupEnv(env); there {
				return false
			}
		}
		if text, ok := tagged(tag, `default:"`); ok && !setDefault(value, text) {
			return false
		}
		_, xor := tagged(tag, `xor:"`)
		switch kind := value.Type(); {
		case xor:
		case kind == reflect.TypeFor[bool](), kind == reflect.TypeFor[string](), kind == reflect.TypeFor[[]string]():
			f.known = append(f.known, quickFlag{field.Name, value, tag})
		}
	}
	return true
}

// tagged is Lookup of a key, which is given with its :". Most fields have none of those that
// are looked for, and Lookup reads the whole help to find that out.
func tagged(tag reflect.StructTag, key string) (value string, ok bool) {
	if !strings.Contains(string(tag), key) {
		return "", false
	}
	return tag.Lookup(strings.TrimSuffix(key, `:"`))
}

func setDefault(value reflect.Value, text string) bool {
	switch value.Type() {
	case reflect.TypeFor[string]():
		value.SetString(text)
	case reflect.TypeFor[int]():
		n, err := strconv.Atoi(text)
		if err != nil {
			return false
		}
		value.SetInt(int64(n))
	default:
		return false
	}
	return true
}

// long is the name of a flag: that of its tag, else the field's, in lower case with a
// dash before each word.
func (k *quickFlag) long() string {
	if name := k.tag.Get("name"); name != "" {
		return name
	}
	var b strings.Builder
	for i, r := range k.field {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// find gives the flag of a word such as --name or -n, nil if it is not known.
func (f *quickFlags) find(word string) *quickFlag {
	for i := range f.known {
		k := &f.known[i]
		if short := k.tag.Get("short"); word == "--"+k.long() || short != "" && word == "-"+short {
			return k
		}
	}
	return nil
}

// take sets the flag's value, or adds to it.
func (k *quickFlag) take(value string) bool {
	if enum := k.tag.Get("enum"); enum != "" && !slices.Contains(strings.Split(enum, ","), value) {
		return false
	}
	if k.value.Kind() == reflect.String {
		k.value.SetString(value)
		return true
	}
	if k.tag.Get("sep") != "none" && strings.ContainsAny(value, ",\\") {
		return false
	}
	k.value.Set(reflect.Append(k.value, reflect.ValueOf(value)))
	return true
}
