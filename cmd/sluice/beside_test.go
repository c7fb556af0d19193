package main

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// beside is a command that runs beside the script.
type beside struct {
	cmd   *exec.Cmd
	mu    sync.Mutex
	wrote bytes.Buffer // both outputs
	news  chan struct{}
	ended chan struct{}
}

func (b *beside) Write(p []byte) (int, error) {
	b.mu.Lock()
	b.wrote.Write(p)
	b.mu.Unlock()
	select {
	case b.news <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (b *beside) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.wrote.String()
}

// start runs a command and goes on with the script.
func start(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: start name command [args...]")
	}
	b := &beside{cmd: exec.Command(program(ts, args[1]), args[2:]...), news: make(chan struct{}, 1),
		ended: make(chan struct{})}
	b.cmd.Dir, b.cmd.Env = ts.MkAbs("."), environ(ts)
	b.cmd.Stdout, b.cmd.Stderr = b, b
	ts.Check(b.cmd.Start())
	go func() {
		_ = b.cmd.Wait()
		close(b.ended)
	}()
	ts.Defer(func() {
		_ = b.cmd.Process.Kill()
		<-b.ended
	})
	scriptOf(ts).beside[args[0]] = b
}

func named(ts *testscript.TestScript, name string) *beside {
	b, ok := scriptOf(ts).beside[name]
	if !ok {
		ts.Fatalf("nothing was started as %s", name)
	}
	return b
}

// patience bounds a wait for something that must come; a test that works does
// not get near it.
const patience = time.Minute

// until waits until the output of a command beside the script matches.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: until name regexp")
	}
	b := named(ts, args[0])
	want, err := regexp.Compile(`(?m)` + args[1])
	ts.Check(err)
	late := time.NewTimer(patience)
	defer late.Stop()
	for ended := false; ; {
		if want.MatchString(b.text()) {
			return
		}
		if ended {
			ts.Fatalf("%s ended without %q:\n%s", args[0], args[1], b.text())
		}
		select {
		case <-b.news:
		case <-b.ended:
			ended = true
		case <-late.C:
			ts.Fatalf("%s did not write %q in %s:\n%s", args[0], args[1], patience, b.text())
		}
	}
}

// signal interrupts or kills a command beside the script.
func signal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: signal name INT|HUP|KILL")
	}
	b := named(ts, args[0])
	switch args[1] {
	case "INT":
		ts.Check(b.cmd.Process.Signal(os.Interrupt))
	case "HUP":
		ts.Check(b.cmd.Process.Signal(syscall.SIGHUP))
	case "KILL":
		ts.Check(b.cmd.Process.Kill())
	default:
		ts.Fatalf("%s is none of INT, HUP and KILL", args[1])
	}
}

// finish waits for the end of a command beside the script, and wants its exit
// code; "killed" if a signal ended it, "any" for whatever it is. What it wrote becomes the file name.txt.
func finish(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: finish name code|killed|any")
	}
	b := named(ts, args[0])
	select {
	case <-b.ended:
	case <-time.After(patience):
		ts.Fatalf("%s did not end in %s:\n%s", args[0], patience, b.text())
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".txt"), []byte(b.text()), 0o644))
	got := strconv.Itoa(b.cmd.ProcessState.ExitCode())
	if got == "-1" {
		got = "killed"
	}
	if got != args[1] && args[1] != "any" {
		ts.Fatalf("%s ended with %s, not %s:\n%s", args[0], got, args[1], b.text())
	}
}
