package session

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice"
)

// Confirm asks a person to enter a word before something is done that cannot be undone. It returns an error if
// the answer is another one.
func (s *Session) Confirm(does, word string) error {
	fmt.Fprintf(s.Env.Err, "%s? Enter %s to confirm: ", does, word)
	var line string
	if s.Env.In != nil {
		line, _ = bufio.NewReader(s.Env.In).ReadString('\n') // no line is no confirmation
	}
	if strings.TrimSpace(line) == word {
		return nil
	}
	fmt.Fprintln(s.Env.Err)
	return &sluice.Error{Op: does, Err: errors.New("not confirmed; nothing was written"),
		Next: "write " + word + " as the answer, or give --force"}
}
