package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"
	"golang.org/x/sys/unix"

	"github.com/sluice-ecs/sluice/internal/cli/goldentest"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/folder"
)

// tutorialCommand matches the commands of the tutorial that are played on a terminal.
var tutorialCommand = regexp.MustCompile(
	`(?m)^(?:\$ )?sluice ((?:plan|deploy|status|history|approve|resume|rollback|init)(?: [a-z/-]+)*` +
		`(?: & sleep 2; kill -9 \$!)?)$`)

// killedAfter is when the tutorial kills a deployment: after two seconds, in which ten times as much passes.
const killedAfter = 20 * time.Second

// TestTutorialScreens plays the sections of the tutorial whose commands need no sockets in a
// pseudo-terminal of 80 and of 120 columns, and compares the last screen. Scripts of cmd/sluice play
// the first section.
func TestTutorialScreens(t *testing.T) {
	noMachine(t)
	page, err := os.ReadFile("../../docs/tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := strings.Split(string(page), "\n## ")
	kill, _, _ := strings.Cut(sections[5], "A lost response has") // it needs a fault
	for _, width := range []int{80, 120} {
		for _, s := range []struct{ name, world, text string }{
			{"canary", "canary", sections[2] + sections[3]}, {"experiment", "canary", sections[4]},
			{"kill", "canary", kill}, {"rollback", "canary", sections[6]}, {"crash", "canary", sections[7]}, {"migration", "migration", sections[8]},
			{"discovery", "discovery", sections[9]}, {"shop", "", sections[10]},
		} {
			t.Run(fmt.Sprintf("%s-%d", s.name, width), func(t *testing.T) {
				t.Parallel()
				var commands []string
				for _, m := range tutorialCommand.FindAllStringSubmatch(s.text, -1) {
					commands = append(commands, m[1])
				}
				if len(commands) == 0 {
					t.Fatal("the section has no commands")
				}
				work := copyExamples(t)
				text := playOnTerminal(t, width, s.world, work, commands)
				for line := range strings.Lines(text) {
					if line = strings.TrimRight(line, "\n"); utf8.RuneCountInString(line) > width {
						t.Errorf("wider than %d columns: %q", width, line)
					}
				}
				goldentest.Check(t, fmt.Sprintf("tutorial/%s-%d.txt", s.name, width), text)
			})
		}
	}
}

// copyExamples returns a folder with the examples, and with the folder broken of section 7.
func copyExamples(t *testing.T) string {
	t.Helper()
	work := t.TempDir()
	fail(t, os.CopyFS(filepath.Join(work, "examples"), os.DirFS("../../examples")))
	broken := filepath.Join(work, "broken")
	fail(t, os.CopyFS(broken, os.DirFS("../../examples/canary")))
	task, err := os.ReadFile(filepath.Join(broken, "taskdef.yaml"))
	fail(t, err)
	task = bytes.Replace(task, []byte("sim/web:v2"), []byte("sim/web:v3-crash-after-3s"), 1)
	fail(t, os.WriteFile(filepath.Join(broken, "taskdef.yaml"), task, 0o600))
	return work
}

// worldOf returns the world file of an example, or for "" the one that sluice sim --from builds of
// examples/shop after sluice init.
func worldOf(t *testing.T, example string) []byte {
	t.Helper()
	if example != "" {
		text, err := os.ReadFile("../../examples/" + example + "/world.yaml")
		fail(t, err)
		return text
	}
	var a txtar.Archive
	for _, name := range []string{"taskdef.json", "servicedef.json"} {
		data, err := os.ReadFile("../../examples/shop/" + name)
		fail(t, err)
		a.Files = append(a.Files, txtar.File{Name: name, Data: data})
	}
	b, world := newShapeBench(t, &a), ""
	b.clock.Run(func() {
		for _, args := range [][]string{{"init", "files"}, {"sim", "--from", "files", "--print-world"}} {
			code, out, log := b.sluice(args...)
			if world = out; code != 0 {
				t.Errorf("%q: exit %d\n%s", args, code, log)
			}
		}
	})
	return []byte(world)
}

// playOnTerminal runs the commands in virtual time on a pseudo-terminal, in the folder work, and
// returns its last screen.
func playOnTerminal(t *testing.T, width int, world, work string, commands []string) string {
	t.Helper()
	text := worldOf(t, world)
	screen, tty := openPseudoTerminal(t, width)
	drawn := make(chan []byte)
	go func() {
		data, _ := io.ReadAll(screen) // ends with an error when the terminal is closed
		drawn <- data
	}()
	journals := "" // of the commands after a kill
	playCommands(t, world, text, commands, tty, func(env *session.Env, interrupt context.CancelFunc) {
		if journals != "" {
			env.StateDir = journals
		}
		if n := slices.Index(env.Args, "&"); n >= 0 {
			env.Args, journals = env.Args[:n], t.TempDir()
			killLater(t, env, journals, interrupt)
		}
		env.Disk.Getwd, env.Disk.FS = func() (string, error) { return work, nil }, folder.New
		env.IsTerminal = func(io.Writer) bool { return true }
		env.Size = func(io.Writer) (int, int) {
			size, err := unix.IoctlGetWinsize(int(tty.Fd()), unix.TIOCGWINSZ)
			if err != nil {
				return 0, 0
			}
			return int(size.Col), int(size.Row)
		}
	})
	if err := tty.Close(); err != nil {
		t.Error(err)
	}
	return killedTable.ReplaceAllString(lastScreen(t, <-drawn, width), "…\nKilled")
}

// killedTable matches the table of a process at its kill. Its state is that of the last time when the machine
// was free to draw it.
var killedTable = regexp.MustCompile(`(?m)^prod/web .*\n(?: .*\n)+Killed`)

// killLater lets the process of env end killedAfter from now, at its next call of AWS: it reaches nothing and
// prints nothing from then on. Its journal, as the kill left it, is copied to journals.
func killLater(t *testing.T, env *session.Env, journals string, interrupt context.CancelFunc) {
	began, send := env.Clock.Now(), env.HTTPClient
	var isKilled atomic.Bool
	terminal, stateDir, now := env.Out, env.StateDir, env.Clock.Now
	env.HTTPClient = sender(func(r *http.Request) (*http.Response, error) {
		if now().Sub(began) >= killedAfter && isKilled.CompareAndSwap(false, true) {
			fail(t, os.CopyFS(journals, os.DirFS(stateDir)))
			fmt.Fprintln(terminal, "Killed")
			interrupt()
		}
		if isKilled.Load() {
			return nil, context.Canceled
		}
		return send.Do(r)
	})
	env.Err = writer(func(data []byte) (int, error) {
		if isKilled.Load() {
			return len(data), nil
		}
		return terminal.Write(data)
	})
	env.Out = env.Err
}

// sender sends a request as [http.Client.Do] does.
type sender func(*http.Request) (*http.Response, error)

func (s sender) Do(r *http.Request) (*http.Response, error) { return s(r) }

type writer func([]byte) (int, error)

func (w writer) Write(data []byte) (int, error) { return w(data) }

// openPseudoTerminal opens a pseudo-terminal (Linux manual, pts(4)).
func openPseudoTerminal(t *testing.T, width int) (screen, tty *os.File) {
	t.Helper()
	failOn := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	failOn(err)
	t.Cleanup(func() { _ = screen.Close() })
	fd := int(screen.Fd())
	failOn(unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	failOn(err)
	failOn(unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 60, Col: uint16(width)}))
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	failOn(err)
	return screen, tty
}

// drawnPart matches a code, a control character or text of a terminal.
var drawnPart = regexp.MustCompile("\x1b\\[([0-9;]*)([A-Za-z])|\r|\n|[^\x1b\r\n]+|\x1b")

// lastScreen returns the lines of a terminal after it has drawn the data, with those that have left it
// at the top. It knows the codes that sluice writes: colors, rows up, and erase to the end.
func lastScreen(t *testing.T, data []byte, width int) string {
	t.Helper()
	rows, row, column := [][]rune{nil}, 0, 0
	for _, m := range drawnPart.FindAllStringSubmatch(string(data), -1) {
		switch {
		case m[0] == "\r":
			column = 0
		case m[0] == "\n":
			if row++; row == len(rows) {
				rows = append(rows, nil)
			}
		case m[2] == "m":
		case m[2] == "A":
			up, err := strconv.Atoi(m[1])
			if err != nil || up > row {
				t.Fatalf("%q from row %d", m[0], row)
			}
			row -= up
		case m[2] == "J" && m[1] == "":
			rows = rows[:row+1]
			rows[row] = rows[row][:min(column, len(rows[row]))]
		case strings.HasPrefix(m[0], "\x1b"):
			t.Fatalf("the terminal gets %q", m[0])
		default:
			text := []rune(m[0])
			rows[row] = append(rows[row][:min(column, len(rows[row]))], text...)
			column += len(text)
		}
	}
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(strings.TrimRight(string(r), " ") + "\n")
	}
	return b.String()
}
