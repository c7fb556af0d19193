package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

func init() { commands["terminal"] = terminal }

// terminal runs a command on a terminal of 110 columns and 30 lines. What it
// drew becomes terminal.txt, its colours and moves written as ESC. The variable TYPED
// is a line that somebody has typed. With !, the command has to fail.
func terminal(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 1 {
		ts.Fatalf("usage: terminal command [args...]")
	}
	screen, tty, err := openTerminal()
	ts.Check(err)
	cmd := exec.Command(program(ts, args[0]), args[1:]...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), environ(ts)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	if typed := ts.Getenv("TYPED"); typed != "" {
		_, err := screen.WriteString(typed + "\n")
		ts.Check(err)
	}
	ts.Check(cmd.Start())
	ts.Check(tty.Close())
	drawn, _ := io.ReadAll(screen) // ends with an error when nobody has the terminal open any more
	ts.Check(screen.Close())
	if err := cmd.Wait(); (err != nil) != neg {
		ts.Fatalf("the end of the command: %v\n%s", err, drawn)
	}
	text := strings.NewReplacer("\r\n", "\n", "\r", "", "\x1b", "ESC").Replace(string(drawn))
	ts.Check(os.WriteFile(ts.MkAbs("terminal.txt"), []byte(text), 0o644))
}

// openTerminal is a pseudoterminal (Linux manual, pts(4)).
func openTerminal() (screen, tty *os.File, err error) {
	if screen, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		return nil, nil, err
	}
	fd := int(screen.Fd())
	if err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, err
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, nil, err
	}
	if err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 30, Col: 110}); err != nil {
		return nil, nil, err
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	return screen, tty, err
}
