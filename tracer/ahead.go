// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"fmt"
	"os"

	"ptguard/decode"
	"ptguard/internal/inherit"
	"ptguard/internal/resolve"
	"ptguard/internal/stack"
)

// ahead is what a run needs and no policy has a part in. It is found out on another CPU while
// the policy is read.
type ahead struct {
	facts   facts
	resolve *resolve.Resolver
	classes []decode.Class
	err     error
	tried   bool
	trial   string // what tryLayers gave
}

var begun chan ahead

// Begin starts to find out what the one Run that follows needs and no policy has a part in.
// Run does it by itself if it was not called. Of cfg, only AllowSetuid, Audit and Backstop are
// looked at. Precondition: nobody calls Run meanwhile.
func Begin(cfg *Config) {
	found := make(chan ahead, 1)
	begun = found
	try, noNewPrivs := cfg.Backstop != BackstopOff && !cfg.Audit, !cfg.AllowSetuid
	go func() {
		stack.Grow()
		a := look()
		if a.tried = try && a.err == nil; a.tried {
			a.trial = tryLayers(noNewPrivs)
		}
		inherit.Ignored()
		found <- a
	}()
}

// takeAhead gives what Begin has started, for one run.
func takeAhead(cfg *Config) <-chan ahead {
	if begun == nil {
		Begin(cfg)
	}
	found := begun
	begun = nil
	return found
}

func look() (a ahead) {
	if pid := statusField(os.Getpid(), "TracerPid"); pid != "0" && pid != "" {
		a.err = fmt.Errorf("already guarded or traced by pid %s: a process has one tracer", pid)
		return a
	}
	var mounts []byte
	if mounts, a.err = watchMounts(); a.err != nil {
		return a
	}
	if a.facts, a.err = newFacts(mounts); a.err != nil {
		return a
	}
	if a.resolve, a.err = resolve.New(); a.err != nil {
		return a
	}
	a.classes = native.Classes()
	return a
}
