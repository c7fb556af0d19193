package session

import (
	"errors"
	"io/fs"
	"path/filepath"

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

func (s *Session) openJournal() (*journal.Journal, error) {
	c, _, err := s.OpenClock()
	if err != nil {
		return nil, err
	}
	j, err := s.Env.OpenJournal(s.StatePath(), c)
	if err == nil {
		j.HideKnown(s.known)
	}
	return j, err
}

// FindJournal opens the journal, or returns nil if it does not exist. Commands that only read do
// not create the file.
func (s *Session) FindJournal() (*journal.Journal, error) {
	if path := s.StatePath(); path != journal.Memory {
		abs, err := filepath.Abs(path)
		if err == nil {
			_, err = fs.Stat(s.Env.FS(filepath.Dir(abs)), filepath.Base(abs))
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	return s.openJournal()
}
