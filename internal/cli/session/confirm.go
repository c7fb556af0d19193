package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sluice-ecs/sluice"
)

// Confirm asks a person to enter a word before something is done that cannot be undone. It returns an error if
// the answer is another one.
func (e Env) Confirm(ctx context.Context, does, word string) error {
	answer, err := e.Ask(ctx, does, does+"? Enter "+word+" to confirm")
	if err != nil || answer == word {
		return err
	}
	return &sluice.Error{Op: does, Err: errors.New("not confirmed; nothing was written"),
		Next: "write " + word + " as the answer, or give --force"}
}

// Ask asks a person for one line. It returns "" if there is none.
func (e Env) Ask(ctx context.Context, does, question string) (string, error) {
	answer, err := e.AskLine(ctx, does, question)
	if errors.Is(err, io.EOF) {
		return "", nil
	}
	return answer, err
}

// CanAsk reports whether a person can see a question and answer it: input and errors are a terminal.
func (e Env) CanAsk() bool { return e.InputIsTerminal() && e.IsTerminal(e.Err) }

// InputIsTerminal reports whether the input is a terminal.
func (e Env) InputIsTerminal() bool {
	in, ok := e.In.(io.Writer) // a terminal is open for both
	return ok && e.IsTerminal(in)
}

// AskLine asks a person for one line. It returns io.EOF if the input ends without one, and the cause of ctx if that
// ends first.
func (e Env) AskLine(ctx context.Context, does, question string) (string, error) {
	fmt.Fprintf(e.Err, "%s: ", question)
	if e.In == nil {
		return "", &sluice.Error{Op: does, Err: errors.New("there is no input to read the answer from"),
			Next: "run it in a terminal"}
	}
	type answer struct {
		line string
		err  error
	}
	read := make(chan answer, 1)
	go func() {
		line, err := readLine(e.In)
		read <- answer{line, err}
	}()
	select {
	case a := <-read:
		if a.err != nil {
			fmt.Fprintln(e.Err)
		}
		return a.line, a.err
	case <-ctx.Done():
		fmt.Fprintln(e.Err)
		return "", context.Cause(ctx)
	}
}

// readLine reads one line and nothing behind it: another question may follow. A line without an end is none.
func readLine(in io.Reader) (string, error) {
	var line strings.Builder
	for b := make([]byte, 1); ; {
		n, err := in.Read(b)
		switch {
		case n > 0 && b[0] == '\n':
			return strings.TrimSpace(line.String()), nil
		case n > 0:
			line.WriteByte(b[0])
		}
		if err != nil {
			return "", io.EOF
		}
	}
}
