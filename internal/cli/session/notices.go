package session

import (
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/cli/show"
)

// Notices are what a session shows beside results and events.
type Notices struct {
	calls show.Calls // in progress
	// shower shows notes while a part of the terminal is rendered in place. Nil: they are printed.
	shower atomic.Pointer[func(string)]
	// onInterrupt is called at the first Ctrl-C. Nil: no text is printed.
	onInterrupt atomic.Pointer[func()]
	// notedRegions are the places of Regions for which a flag gives another one, as was noted.
	notedRegions []string
}

// NoteShower shows a line that is not an event.
type NoteShower interface{ ShowNote(string) }

// SetInterrupt sets the text that the first Ctrl-C prints. It returns a function that clears the text.
func (n *Notices) SetInterrupt(r NoteShower, says string) func() {
	f := func() { r.ShowNote(says) }
	n.onInterrupt.Store(&f)
	return func() { n.onInterrupt.Store(nil) }
}

// NoteInterrupt prints the text of SetInterrupt, if there is one.
func (n *Notices) NoteInterrupt() {
	if f := n.onInterrupt.Load(); f != nil {
		(*f)()
	}
}

// SetShower makes r show the notes of the session, until clear is called.
func (n *Notices) SetShower(r NoteShower) (clear func()) {
	show := r.ShowNote
	n.shower.Store(&show)
	return func() { n.shower.Store(nil) }
}

// show shows a note, or prints it to w.
func (n *Notices) show(w io.Writer, text string) {
	if show := n.shower.Load(); show != nil {
		(*show)(text)
		return
	}
	fmt.Fprintln(w, text)
}

// noteOtherRegion says, once for each place, that the Region of a flag replaces the one of the files: a service that does
// not exist there is often one of the files' Region.
func (n *Notices) noteOtherRegion(w io.Writer, region string, app *appfile.Application) {
	place := app.PlaceOfRegion()
	if region == "" || region == app.Region || place == "" || slices.Contains(n.notedRegions, place) {
		return
	}
	n.notedRegions = append(n.notedRegions, place)
	fmt.Fprintf(w, "note: --region %s replaces region: %s of %s\n", region, app.Region, place)
}

// ShowCalls shows on a terminal which call to AWS the command waits for, until stop is called. It
// does nothing while another part of the terminal is rendered in place.
func (s *Session) ShowCalls() (stop func()) {
	if s.terminal != nil || s.Notices.shower.Load() != nil {
		return func() {}
	}
	line := s.Terminal().NewStatusLine(s.Notices.calls.Text)
	if line == nil {
		return func() {}
	}
	clear := s.Notices.SetShower(line)
	return func() {
		clear()
		line.Close()
	}
}
