package session

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice"
)

// Confirm asks a person to enter a word before something is done that cannot be undone. It returns an error if
// the answer is another one.
func (s *Session) Confirm(does, word string) error {
	answer, err := s.Ask(does, does+"? Enter "+word+" to confirm")
	if err != nil || answer == word {
		return err
	}
	return &sluice.Error{Op: does, Err: errors.New("not confirmed; nothing was written"),
		Next: "write " + word + " as the answer, or give --force"}
}

// Ask asks a person for one line. It returns "" if there is none.
func (s *Session) Ask(does, question string) (string, error) {
	fmt.Fprintf(s.Env.Err, "%s: ", question)
	if s.Env.In == nil {
		return "", &sluice.Error{Op: does, Err: errors.New("there is no input to read the answer from"),
			Next: "run it in a terminal"}
	}
	var line strings.Builder
	for b := make([]byte, 1); ; { // nothing behind the line is read: another question may follow
		n, err := s.Env.In.Read(b)
		if n > 0 && b[0] != '\n' {
			line.WriteByte(b[0])
		}
		switch {
		case n > 0 && b[0] == '\n':
			return strings.TrimSpace(line.String()), nil
		case err != nil:
			fmt.Fprintln(s.Env.Err)
			return "", nil
		}
	}
}
