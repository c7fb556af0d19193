package session

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// StatePath returns the path of the journal.
func (s *Session) StatePath() string {
	if s.Flags.state != "" {
		return s.Flags.state
	}
	return filepath.Join(s.Env.StateDir, "journal.sqlite")
}

// OpenJournalForWrite opens the journal for a command that makes changes, and creates the journal if
// necessary. Such a command must not end because the reader of its output has ended.
func (s *Session) OpenJournalForWrite() (*journal.Journal, error) {
	if s.Env.IgnoreSIGPIPE != nil {
		s.Env.IgnoreSIGPIPE()
	}
	return s.openJournal()
}

// OpenExistingJournal is [Session.OpenJournalForWrite] for a command that continues what the journal has. A file that --state
// names must exist: a new one would only hide the mistake.
func (s *Session) OpenExistingJournal() (*journal.Journal, error) {
	if err := s.CheckStateExists(); err != nil {
		return nil, err
	}
	return s.OpenJournalForWrite()
}

// CheckStateExists returns an error if --state names a file that does not exist.
func (s *Session) CheckStateExists() error {
	if s.Flags.state == "" || s.Flags.state == journal.Memory || s.hasJournal() {
		return nil
	}
	if err := s.checkStateFolder(); err != nil {
		return err
	}
	return &sluice.Error{Op: "open the journal", Resource: s.Flags.state, Kind: sluice.NotFound,
		Err:  errors.New("there is no such file"),
		Next: "name the journal of the process that deployed with --state; a CI job gets it as an artifact of the job before"}
}

// hasJournal reports whether the file of the journal exists, or cannot be looked for.
func (s *Session) hasJournal() bool {
	abs, err := filepath.Abs(s.StatePath())
	if err == nil {
		_, err = fs.Stat(s.Env.Disk.FS(filepath.Dir(abs)), filepath.Base(abs))
	}
	return !errors.Is(err, fs.ErrNotExist)
}

func (s *Session) openJournal() (*journal.Journal, error) {
	c, _, err := s.OpenClock()
	if err == nil {
		err = s.checkStateFolder()
	}
	if err != nil {
		return nil, err
	}
	j, err := s.Env.OpenJournal(s.StatePath(), c)
	if err == nil {
		j.HideKnown(s.Secrets)
	}
	return j, err
}

// checkStateFolder returns an error if the folder of the file that --state names does not exist: it is probably misspelt.
// Only the folder of the journal without --state is created.
func (s *Session) checkStateFolder() error {
	dir := filepath.Dir(s.Flags.state)
	if s.Flags.state == "" || s.Flags.state == journal.Memory || s.Env.Disk.Exists(dir) {
		return nil
	}
	above := filepath.Dir(dir)
	for !s.Env.Disk.Exists(above) && above != filepath.Dir(above) {
		above = filepath.Dir(above)
	}
	next := "create the folder, or give --state a file in a folder that exists"
	if near := s.Env.Disk.nearFolder(dir); near != "" {
		next = "give --state " + near + "/" + filepath.Base(s.Flags.state)
	}
	return &sluice.Error{Op: "open the journal", Resource: s.Flags.state, Kind: sluice.NotFound,
		Err: fmt.Errorf("there is no folder %s; %s exists", filepath.ToSlash(dir), filepath.ToSlash(above)), Next: next}
}

// FindJournal opens the journal, or returns nil if it does not exist. Commands that only read do
// not create the file.
func (s *Session) FindJournal() (*journal.Journal, error) {
	if s.StatePath() != journal.Memory && !s.hasJournal() {
		return nil, nil
	}
	return s.openJournal()
}
