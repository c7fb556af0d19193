package main

import (
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sluice-ecs/sluice/internal/cli"
)

// commands are those of the scripts, beside testscript's own.
var commands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"exits": exits,
}

func wrapped(env cli.Env) cli.Env { return env }

// exits runs a command and wants its exit code: exits 7 sluice plan.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code command [args...]")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		ended, ok := err.(interface{ ExitCode() int })
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = ended.ExitCode()
	}
	if want := args[0]; want != strconv.Itoa(got) {
		ts.Fatalf("exit code %d, not %s", got, want)
	}
}
