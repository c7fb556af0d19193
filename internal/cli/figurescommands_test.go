package cli

import (
	"strings"
	"testing"
	"time"
)

// slowestCommand measures the commands of an application that does not deploy, on a local AWS without delays.
func slowestCommand(t *testing.T) result {
	b := newShapeBench(t, readArchive(t, "testdata/shapes/defaults.txtar"))
	slowest, name := time.Duration(0), ""
	b.clock.Run(func() {
		if !b.load() {
			return
		}
		for _, command := range []string{"plan", "diff", "status", "history", "wait", "tasks", "logs", "render config",
			"render taskdef", "render servicedef", "revisions", "register --dry-run", "deregister --keeps 3 --dry-run",
			"scale --tasks 3 --dry-run", "refresh --dry-run", "run --dry-run", "delete --terminate --dry-run"} {
			began := time.Now()
			code, out, log := b.sluice(append(strings.Fields(command), "files", "--region", "us-east-1")...)
			if code != 0 && command != "diff" {
				t.Errorf("sluice %s: exit %d\n%s%s", command, code, out, log)
			}
			if took := time.Since(began); took > slowest {
				slowest, name = took, command
			}
		}
	})
	return most(float64(slowest.Milliseconds()), 1000, "ms ("+name+")")
}
