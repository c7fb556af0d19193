package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/printable"
)

// outputDelay is how long a command's output may stay open after the command has ended: a process
// that it started in the background may have it.
const outputDelay = 2 * time.Second

// Command is a program whose exit code decides.
type Command struct {
	Argv    []string // the program and its arguments; no shell reads them
	Dir     string   // where it runs; "": the current folder
	Env     []string // its environment, as of os.Environ; nil: that of sluice
	Timeout time.Duration
}

// Run runs the command and returns its exit code and the end of its output, printable and without
// secrets. It runs in a process group of its own. The group is killed when the command ends, when its
// time is over, and when ctx ends: the last two are errors, as is a program that cannot start.
//
// The command runs in real time. On a virtual clock its timeout never comes.
func (c Command) Run(ctx context.Context, clk clock.Clock) (exit int, tail string, err error) {
	if len(c.Argv) == 0 {
		return 0, "", &sluice.Error{Op: "run command", Err: errors.New("it has no words"), Next: "add the command"}
	}
	limited, cancel := clk.WithTimeout(ctx, clk.NetworkTime(c.Timeout))
	defer cancel()
	output := &tailWriter{}
	cmd := exec.CommandContext(limited, c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = c.Dir, c.Env, output, output, outputDelay
	ownGroup(cmd)
	cmd.Cancel = func() error { return killGroup(cmd) }
	if err := cmd.Start(); ctx.Err() != nil {
		_ = cmd.Wait()
		return 0, "", c.stopError(context.Cause(ctx))
	} else if err != nil {
		return 0, "", c.startError(err)
	}
	err = cmd.Wait()
	_ = killGroup(cmd) // what the command left in the background
	tail = output.text()
	switch {
	case ctx.Err() != nil:
		return 0, tail, c.stopError(context.Cause(ctx))
	case limited.Err() != nil:
		return 0, tail, &sluice.Error{Op: "run command", Resource: c.name(), Kind: sluice.Stall,
			Err:  fmt.Errorf("it did not end within %s and was killed", c.Timeout),
			Next: "raise the timeout of the command, or make it faster"}
	}
	return exitCode(cmd), tail, c.waitError(err)
}

// waitError returns the error of a command that ended. Its exit code is none.
func (c Command) waitError(err error) error {
	var exited *exec.ExitError
	if err == nil || errors.As(err, &exited) || errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	return c.startError(err)
}

// Find returns an error if the program does not exist on this machine, or may not be executed.
func (c Command) Find() error {
	if len(c.Argv) == 0 {
		return nil
	}
	program := c.Argv[0]
	if filepath.Base(program) != program && !filepath.IsAbs(program) { // else PATH is searched
		program = filepath.Join(c.Folder(), program)
	}
	if _, err := exec.LookPath(program); err != nil {
		return c.startError(err)
	}
	return nil
}

// Folder returns where the command runs, for the reader of a message.
func (c Command) Folder() string {
	if c.Dir != "" {
		return c.Dir
	}
	dir, err := os.Getwd()
	if err != nil {
		return "the current folder"
	}
	return dir
}

func (c Command) startError(err error) error {
	var name *exec.Error
	var path *fs.PathError
	if errors.As(err, &name) {
		err = name.Err
	}
	if errors.As(err, &path) { // its path is the program, or the folder
		err = path.Err
	}
	return &sluice.Error{Op: "run command", Resource: c.name(), Err: fmt.Errorf("%w; it is started in %s", err, c.Folder()),
		Next: "check that the program exists on this machine and may be executed"}
}

func (c Command) stopError(cause error) error {
	return &sluice.Error{Op: "run command", Resource: c.name(), Kind: sluice.KindOf(cause), Err: cause}
}

// name returns the program for errors. Its arguments may contain secrets.
func (c Command) name() string { return printable.Line(c.Argv[0]) }

// exitCode returns the exit code, and 128 and the signal for a command that a signal ended, as shells
// do.
func exitCode(cmd *exec.Cmd) int {
	if code := cmd.ProcessState.ExitCode(); code >= 0 {
		return code
	}
	return 128 + signalOf(cmd.ProcessState)
}
