//go:build unix

package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/clock"
)

func shell(script string, timeout time.Duration) Command {
	return Command{Argv: []string{"sh", "-c", script}, Timeout: timeout}
}

// The exit code is that of the command, and the end of its output is shown.
func TestCommand(t *testing.T) {
	for script, want := range map[string]string{
		"echo fine":                                    "0 fine",
		"echo one; echo two >&2":                       "0 one\ntwo",
		"echo bad; exit 7":                             "7 bad",
		"kill -9 $$":                                   "137 ",
		"printf '\\033[31mred\\n'":                     "0 \\u001b[31mred",
		"echo password=hunter2hunter2":                 "0 password=***",
		"seq 1 100":                                    "0 " + lines(81, 100),
		"head -c 3000 /dev/zero|tr '\\0' x":            "0 " + strings.Repeat("x", maxTail),
		"yes PASSWORD=hunter2hunter2 | head -c 200000": "0 " + strings.Repeat("PASSWORD=***\n", 19) + "PASSWORD",
		"true": "0 ",
	} {
		exit, tail, err := shell(script, time.Minute).Run(t.Context(), clock.Real())
		if got := fmt.Sprintf("%d %s", exit, tail); err != nil || got != want && !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, %v; want %q", script, got, err, want)
		}
	}
}

func lines(from, to int) string {
	var all []string
	for i := from; i <= to; i++ {
		all = append(all, fmt.Sprint(i))
	}
	return strings.Join(all, "\n")
}

// A command runs with the arguments as they are, in its folder and environment.
func TestCommandTakesWords(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "here"), []byte("in the folder"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := Command{Argv: []string{"sh", "-c", `read x <here; echo "$x" "$1" "$X"`, "sh", "a  b;c"}, Dir: dir,
		Env: []string{"X=y"}, Timeout: time.Minute}
	if _, tail, err := c.Run(t.Context(), clock.Real()); err != nil || tail != "in the folder a  b;c y" {
		t.Errorf("%q, %v", tail, err)
	}
}

// pipe is a named pipe that a command's processes hold open while they run.
type pipe struct {
	testing.TB
	path string
	file *os.File
}

func newPipe(t *testing.T) pipe {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return pipe{t, path, file}
}

// expectEnded waits until every process that has the pipe open has ended.
func (p pipe) expectEnded() {
	p.Helper()
	if err := p.file.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		p.Fatal(err)
	}
	if _, err := io.ReadAll(p.file); err != nil {
		p.Errorf("a process still runs: %v", err)
	}
}

// When the time is over, the command and everything that it started are killed.
func TestCommandIsKilledWithItsGroup(t *testing.T) {
	p := newPipe(t)
	_, tail, err := shell("echo started; sleep 600 >"+p.path+" & wait", 500*time.Millisecond).Run(t.Context(),
		clock.Real())
	if sluice.KindOf(err) != sluice.Stall || !strings.Contains(err.Error(), "did not end within 500ms") ||
		tail != "started" {
		t.Errorf("%q, %v", tail, err)
	}
	p.expectEnded()
}

// What a command leaves in the background does not outlive it, and does not keep sluice waiting.
func TestCommandLeavesNothingBehind(t *testing.T) {
	p := newPipe(t)
	exit, tail, err := shell("sleep 600 >"+p.path+" & echo done; exit 3", time.Minute).Run(t.Context(), clock.Real())
	if exit != 3 || tail != "done" || err != nil {
		t.Errorf("%d, %q, %v", exit, tail, err)
	}
	p.expectEnded()
	if exit, _, err := shell("sleep 600 & exit 0", time.Minute).Run(t.Context(), clock.Real()); exit != 0 || err != nil {
		t.Errorf("with its output open: %d, %v", exit, err)
	}
}

// A stopped deployment stops the command, with the reason of the stop.
func TestCommandIsStopped(t *testing.T) {
	cause := &sluice.Error{Op: "stop", Kind: sluice.Halted, Err: errors.New("a person stopped it")}
	ctx, stop := context.WithCancelCause(t.Context())
	stop(cause)
	if _, _, err := shell("sleep 600", time.Hour).Run(ctx, clock.Real()); !errors.Is(err, cause) {
		t.Errorf("stopped before: %v", err)
	}
	ctx, stop = context.WithCancelCause(t.Context())
	p := newPipe(t)
	go func() {
		if f, err := os.Open(p.path); err == nil { // returns when the command has opened it too
			f.Close()
		}
		stop(cause)
	}()
	if _, _, err := shell("exec >"+p.path+"; echo started; sleep 600", time.Hour).Run(ctx, clock.Real()); !errors.Is(err,
		cause) || sluice.KindOf(err) != sluice.Halted {
		t.Errorf("stopped during the run: %v", err)
	}
	p.expectEnded()
}

// A program that cannot start is an error, and no exit code.
func TestCommandThatCannotStart(t *testing.T) {
	for want, c := range map[string]Command{
		"executable file not found": {Argv: []string{"no-such-program-here", "PASSWORD"}, Timeout: time.Minute},
		"no such file or directory": {Argv: []string{"sh", "-c", "true"}, Dir: "/no/such/folder", Timeout: time.Minute},
		"it has no words":           {},
	} {
		_, _, err := c.Run(t.Context(), clock.Real())
		if err == nil || !strings.Contains(err.Error(), want) || sluice.NextStep(err) == "" ||
			strings.Contains(err.Error(), "PASSWORD") {
			t.Errorf("%v: %v, want %q", c.Argv, err, want)
		}
	}
}

// The first line of an output that is too long may be the rest of one, and half of a secret.
func TestTailDropsTheCutLine(t *testing.T) {
	w := &tailWriter{}
	secret := "PASSWORD=" + strings.Repeat("PLANTED", 10)
	// A key is masked as a whole, so that the begin of what is kept is in the last lines.
	key := "-----BEGIN PRIVATE KEY-----" + strings.Repeat("A", maxKept-60)
	for _, part := range []string{secret, "\n", key, "\nlast!\n"} {
		if _, err := w.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.text(); strings.Contains(got, "PLANTED") || got != "***!" {
		t.Errorf("%.200q", got)
	}
}
