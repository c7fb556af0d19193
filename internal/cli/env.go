package cli

import (
	"context"
	"crypto/rand"
	"io"
	"io/fs"
	"os"
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

	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/folder"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/printable"
)

// Env is the only door from the command line to what is outside. [OS] is the
// one of the machine; tests pass others.
type Env struct {
	Args   []string // without the program's name
	In     io.Reader
	Out    io.Writer // results
	Err    io.Writer // progress and errors
	Getenv func(string) string

	// Clock is time. Nil: the machine's, or a scaled one if SLUICE_SPEED is set.
	Clock clock.Clock
	Rand  io.Reader // IDs and jitter

	HTTPClient  aws.HTTPClient // nil: the SDK's
	APIOptions  []func(*middleware.Stack) error
	Credentials aws.CredentialsProvider // nil: the SDK's chain

	OpenJournal func(path string, c clock.Clock) (*journal.Journal, error)
	StateDir    string // where the journal is without --state

	Getwd func() (string, error)
	FS    func(dir string) fs.FS

	// Outlive lets the process live on when nobody reads what it writes any more.
	Outlive func()

	// Notify sends the signals that ask to stop, until stop is called.
	Notify func(chan<- os.Signal) (stop func())

	// Twin is how soon after the first a second signal is the same one: timeout sends
	// its signal to the command and to the group that the command is in, and npm and
	// others pass on a Ctrl-C that the terminal has sent to everybody.
	Twin time.Duration

	Host  string // of this machine, in names of who holds or approves
	User  string
	PID   int
	Alive func(pid int) bool // a process of this machine

	// Browse opens a page in the browser, if the machine has one; nil: never.
	Browse func(url string)

	IsTerminal func(io.Writer) bool
	Size       func(io.Writer) (width, height int) // of a terminal; 0 is unknown

	own printable.Mark // of the codes that sluice writes; see printed
}

// longestLine is how many characters of a line of progress are written.
const longestLine = 16 << 10

// printed is the environment whose writers make all text printable, and let pass the
// codes that sluice itself writes.
func (e Env) printed() (Env, error) {
	var err error
	if e.own, err = printable.NewMark(e.Rand); err != nil {
		return e, err
	}
	isTerminal, size := e.IsTerminal, e.Size
	e.IsTerminal = func(w io.Writer) bool { return isTerminal(unwrapped(w)) }
	e.Size = func(w io.Writer) (int, int) { return size(unwrapped(w)) }
	e.Out, e.Err = printable.NewWriter(e.Out, e.own, 0), printable.NewWriter(e.Err, e.own, longestLine)
	return e, nil
}

func unwrapped(w io.Writer) io.Writer {
	if p, ok := w.(*printable.Writer); ok {
		return p.Unwrap()
	}
	return w
}

// OS is the machine's environment.
func OS() Env {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return Env{
		Args: os.Args[1:], In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv,
		Rand: rand.Reader, OpenJournal: journal.Open, StateDir: filepath.Join(xdg.StateHome, "sluice"),
		Getwd: os.Getwd, FS: folder.New, Notify: notify, Twin: 250 * time.Millisecond, Outlive: outlive,
		Host: strings.ReplaceAll(host, "/", "-"), User: userName(), PID: os.Getpid(), Alive: alive,
		Browse: browse, IsTerminal: isTerminal, Size: size,
	}
}

// notify counts a terminal that goes away as an interrupt, unless nohup said that it
// may.
func notify(c chan<- os.Signal) func() {
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(c, syscall.SIGHUP)
	}
	return func() { signal.Stop(c) }
}

// outlive: without it a write to a pipe that nobody reads ends the process.
func outlive() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// userName is who runs this, for people; it proves nothing.
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

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && obeys(f)
}

func size(w io.Writer) (width, height int) {
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

// interrupts is a context that the first signal ends, and a channel that the
// second closes.
func (e Env) interrupts(ctx context.Context, first func()) (context.Context, <-chan struct{}) {
	ctx, cancel := context.WithCancelCause(ctx)
	twice, signals := make(chan struct{}), make(chan os.Signal, 2)
	e.Notify(signals)
	go func() {
		<-signals
		first()
		at := time.Now()
		cancel(errInterrupted)
		for <-signals; time.Since(at) < e.Twin; <-signals {
		}
		close(twice)
	}()
	return ctx, twice
}
