package session

import (
	"context"
	"crypto/rand"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/adrg/xdg"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go/middleware"
	"golang.org/x/term"

	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/folder"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/printable"
	"github.com/sluice-ecs/sluice/internal/secret"
)

// Env is everything that the command line uses outside the process. [OS] is the real one; tests
// pass their own.
type Env struct {
	Args   []string // without the program's name
	In     io.Reader
	Out    io.Writer // results
	Err    io.Writer // progress and errors
	Getenv func(string) string

	// Clock is the clock. Nil means the machine's, or a scaled one if SLUICE_SPEED is set.
	Clock clock.Clock
	Rand  io.Reader // IDs and jitter

	HTTPClient  aws.HTTPClient // nil: the SDK's
	APIOptions  []func(*middleware.Stack) error
	Credentials aws.CredentialsProvider // nil: the SDK's chain

	OpenJournal func(path string, c clock.Clock) (*journal.Journal, error)
	StateDir    string // folder of the journal without --state

	// LoadLimit is the time after which the evaluation of files is given up. Jsonnet may have a loop without an end.
	// Zero: 20 s.
	LoadLimit time.Duration

	Disk Disk

	// IgnoreSIGPIPE keeps the process alive when the reader of its output has ended.
	IgnoreSIGPIPE func()

	// Notify sends the signals that request a stop to the channel, until stop is called.
	Notify func(chan<- os.Signal) (stop func())

	// SignalDebounce is the time after the first signal in which another one counts as the same.
	// timeout sends its signal to the command and to the command's process group. npm and others
	// pass on a Ctrl-C that the terminal has already sent to the whole group.
	SignalDebounce time.Duration

	Host    string // of this machine, in the names of owners and approvers
	User    string
	PID     int
	IsAlive func(pid int) bool // reports whether a process of this machine runs

	// OpenBrowser opens a page in the browser, if the machine has one. Nil opens no page.
	OpenBrowser func(url string)

	// FindProgram returns an error if a program is not installed. Nil: none is.
	FindProgram func(name string) error
	// RunGit runs git in a folder. It returns what it prints, and what it says of an error. Nil: there is no git.
	RunGit func(dir string, args ...string) (out, said string, err error)
	// RunProgram runs a program with this process's terminal until it ends.
	RunProgram func(name string, args ...string) error

	IsTerminal func(io.Writer) bool
	Size       func(io.Writer) (width, height int) // of a terminal; 0: unknown

	own printable.CodePrefix // of the codes that sluice writes; see sanitizeWriters
}

// maxLineLength is the maximum number of characters of a line on Err. Longer lines are cut.
const maxLineLength = 16 << 10

// sanitizeWriters returns an environment whose writers make all text printable, and wrap it on a
// terminal. The terminal codes that sluice itself writes pass unchanged.
func (e Env) sanitizeWriters(known *secret.Known) (Env, error) {
	var err error
	if e.own, err = printable.NewCodePrefix(e.Rand); err != nil {
		return e, err
	}
	isTerminal, size := e.IsTerminal, e.Size
	e.IsTerminal = func(w io.Writer) bool { return isTerminal(unwrapWriter(w)) }
	e.Size = func(w io.Writer) (int, int) { return size(unwrapWriter(w)) }
	wrap := func(w io.Writer) io.Writer {
		if !isTerminal(w) {
			return w
		}
		return show.NewWrapWriter(w, func() int { width, _ := size(w); return width })
	}
	e.Out = printable.NewWriter(wrap(e.Out), e.own, 0).HideKnown(known)
	e.Err = printable.NewWriter(wrap(e.Err), e.own, maxLineLength).HideKnown(known)
	return e, nil
}

// unwrapWriter returns the writer below those of sanitizeWriters.
func unwrapWriter(w io.Writer) io.Writer {
	for {
		over, ok := w.(interface{ Unwrap() io.Writer })
		if !ok {
			return w
		}
		w = over.Unwrap()
	}
}

// OS returns the environment of this machine.
func OS() Env {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return Env{
		Args: os.Args[1:], In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv,
		Rand: rand.Reader, OpenJournal: journal.Open, StateDir: filepath.Join(xdg.StateHome, "sluice"),
		Disk: Disk{os.Getwd, folder.New}, Notify: notifySignals, SignalDebounce: 250 * time.Millisecond,
		IgnoreSIGPIPE: ignoreSIGPIPE,
		Host:          strings.ReplaceAll(host, "/", "-"), User: userName(), PID: os.Getpid(), IsAlive: isProcessAlive,
		FindProgram: findProgram, RunProgram: runProgram, RunGit: runGit, OpenBrowser: openBrowser, IsTerminal: isTerminal, Size: terminalSize,
	}
}

// notifySignals sends stop signals to c. A terminal that is closed (SIGHUP) counts as an
// interrupt, unless nohup has made the process ignore SIGHUP.
func notifySignals(c chan<- os.Signal) func() {
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(c, syscall.SIGHUP)
	}
	return func() { signal.Stop(c) }
}

// ignoreSIGPIPE keeps the process alive after a write to a pipe without a reader. Without it, Go
// ends the process at such a write to stdout or stderr.
func ignoreSIGPIPE() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// userName returns the name of the user for messages and the journal. It is not authenticated.
func userName() string {
	for _, key := range []string{"USER", "USERNAME"} {
		if name := os.Getenv(key); name != "" {
			return name
		}
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "unknown"
}

func findProgram(name string) error {
	_, err := exec.LookPath(name)
	return err
}

func runGit(dir string, args ...string) (out, said string, err error) {
	var stdout, stderr strings.Builder
	c := exec.Command("git", args...)
	c.Dir, c.Stdout, c.Stderr = dir, &stdout, &stderr
	err = c.Run()
	return stdout.String(), stderr.String(), err
}

func runProgram(name string, args ...string) error {
	c := exec.Command(name, args...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	return c.Run()
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && supportsANSI(f)
}

func terminalSize(w io.Writer) (width, height int) {
	f, ok := w.(*os.File)
	if !ok {
		return 0, 0
	}
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return width, height
}

// HandleSignals returns a context that the first signal cancels and a channel that the second
// signal closes. It calls first at the first signal.
func (e Env) HandleSignals(ctx context.Context, first func()) (context.Context, <-chan struct{}) {
	ctx, cancel := context.WithCancelCause(ctx)
	twice, signals := make(chan struct{}), make(chan os.Signal, 2)
	e.Notify(signals)
	go func() {
		<-signals
		first()
		at := time.Now()
		cancel(ErrInterrupted)
		for <-signals; time.Since(at) < e.SignalDebounce; <-signals {
		}
		close(twice)
	}()
	return ctx, twice
}

// openBrowser opens a page with the machine's open or xdg-open command, if it has one. A failure
// is ignored, because the address is printed as well.
func openBrowser(url string) {
	for _, name := range []string{"open", "xdg-open"} {
		if path, err := exec.LookPath(name); err == nil {
			c := exec.Command(path, url)
			if c.Start() == nil {
				go c.Wait() // reap the process; its result does not matter
				return
			}
		}
	}
}
