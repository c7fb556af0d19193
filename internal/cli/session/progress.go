package session

import (
	"fmt"

	"github.com/sluice-ecs/sluice"
)

// ShowCalls shows on a terminal which call to AWS the command waits for, until stop is called. It
// does nothing while another part of the terminal is rendered in place.
func (s *Session) ShowCalls() (stop func()) {
	if s.terminal != nil || s.noteShower.Load() != nil {
		return func() {}
	}
	line := s.Terminal().NewStatusLine(s.calls.Text)
	if line == nil {
		return func() {}
	}
	clear := s.UseNoteShower(line)
	return func() {
		clear()
		line.Close()
	}
}

// UseNoteShower makes n show the notes of the session, until clear is called.
func (s *Session) UseNoteShower(n NoteShower) (clear func()) {
	show := n.ShowNote
	s.noteShower.Store(&show)
	return func() { s.noteShower.Store(nil) }
}

// printSilence prints that AWS does not respond. It is used where no deployment reports this by an
// event.
func (s *Session) printSilence(e sluice.Unanswered) {
	if show := s.noteShower.Load(); show != nil {
		(*show)(e.Text())
		return
	}
	fmt.Fprintln(s.Env.Err, e.Text())
}
