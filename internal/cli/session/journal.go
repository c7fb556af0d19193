package session

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/sluice-ecs/sluice/internal/journal"
)

// StatePath returns the path of the journal.
func (p *Session) StatePath() string {
	if p.Flags.state != "" {
		return p.Flags.state
	}
	return filepath.Join(p.Env.StateDir, "journal.sqlite")
}

// OpenJournalForWrite opens the journal for a command that makes changes, and creates the journal if
// necessary. Such a command must not end because the reader of its output has ended.
func (p *Session) OpenJournalForWrite() (*journal.Journal, error) {
	if p.Env.IgnoreSIGPIPE != nil {
		p.Env.IgnoreSIGPIPE()
	}
	return p.openJournal()
}

func (p *Session) openJournal() (*journal.Journal, error) {
	c, _, err := p.OpenClock()
	if err != nil {
		return nil, err
	}
	return p.Env.OpenJournal(p.StatePath(), c)
}

// FindJournal opens the journal, or returns nil if it does not exist. Commands that only read do
// not create the file.
func (p *Session) FindJournal() (*journal.Journal, error) {
	if path := p.StatePath(); path != journal.Memory {
		abs, err := filepath.Abs(path)
		if err == nil {
			_, err = fs.Stat(p.Env.FS(filepath.Dir(abs)), filepath.Base(abs))
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	return p.openJournal()
}
