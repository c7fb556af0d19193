package session

import (
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/printable"
)

// ChoiceError is a value of a flag that is none of the possible words.
type ChoiceError struct {
	Value string
	Words []string // two or more
	Note  string   // what else helps; may be empty
}

func (e ChoiceError) Error() string { return "it must be " + e.listWords("") + e.Note }

// listWords returns the words, each with a prefix.
func (e ChoiceError) listWords(prefix string) string {
	last := len(e.Words) - 1
	return prefix + strings.Join(e.Words[:last], ", "+prefix) + " or " + prefix + e.Words[last]
}

// OfFlag returns the error for a flag of a command. It names the word that was probably meant.
func (e ChoiceError) OfFlag(command, flag string) error {
	meant := e.listWords("--" + flag + " ")
	if near := definition.Nearest(e.Value, e.Words); near != "" {
		meant = "--" + flag + " " + near
	}
	return WrongValue(command, flag, e.Value, e.listWords("")+e.Note, "give "+meant)
}

// WrongValue returns the error for a flag whose value must be another.
func WrongValue(command, flag, value, must, next string) error {
	return &sluice.Error{Op: command, Err: fmt.Errorf("--%s is %q, but must be %s", flag, printable.Clip(value, 60), must),
		Next: next}
}
