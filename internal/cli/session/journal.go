package session

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// JournalFile is the file of the journal.
type JournalFile struct {
	Path    string
	isGiven bool // by --state
	disk    Disk
}

// JournalFile returns the file of the journal: that of --state, or the one in the user's state folder.
func (s *Session) JournalFile() JournalFile {
	if given := s.Flags.state; given != "" {
		return JournalFile{given, given != journal.Memory, s.Env.Disk}
	}
	return JournalFile{Path: filepath.Join(s.Env.StateDir, "journal.sqlite"), disk: s.Env.Disk}
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
	if err := s.JournalFile().CheckExists(); err != nil {
		return nil, err
	}
	return s.OpenJournalForWrite()
}

// CheckExists returns an error if --state names a file that does not exist.
func (f JournalFile) CheckExists() error {
	if !f.isGiven || f.exists() {
		return nil
	}
	if err := f.checkFolder(); err != nil {
		return err
	}
	return &sluice.Error{Op: "open the journal", Resource: f.Path, Kind: sluice.NotFound,
		Err:  errors.New("there is no such file"),
		Next: "name the journal of the process that deployed with --state; a CI job gets it as an artifact of the job before"}
}

// exists reports whether the file is there, or cannot be looked for.
func (f JournalFile) exists() bool {
	abs, err := filepath.Abs(f.Path)
	if err == nil {
		_, err = fs.Stat(f.disk.FS(filepath.Dir(abs)), filepath.Base(abs))
	}
	return !errors.Is(err, fs.ErrNotExist)
}

func (s *Session) openJournal() (*journal.Journal, error) {
	c, _, err := s.OpenClock()
	if err == nil {
		err = s.JournalFile().checkFolder()
	}
	if err != nil {
		return nil, err
	}
	j, err := s.Env.OpenJournal(s.JournalFile().Path, c)
	if err == nil {
		j.HideKnown(s.Secrets)
	}
	return j, err
}

// checkFolder returns an error if the folder of the file that --state names does not exist: it is probably misspelt.
// Only the folder of the journal without --state is created.
func (f JournalFile) checkFolder() error {
	dir := filepath.Dir(f.Path)
	if !f.isGiven || f.disk.Exists(dir) {
		return nil
	}
	above := filepath.Dir(dir)
	for !f.disk.Exists(above) && above != filepath.Dir(above) {
		above = filepath.Dir(above)
	}
	next := "create the folder, or give --state a file in a folder that exists"
	if near := f.disk.nearFolder(dir); near != "" {
		next = "give --state " + near + "/" + filepath.Base(f.Path)
	}
	return &sluice.Error{Op: "open the journal", Resource: f.Path, Kind: sluice.NotFound,
		Err: fmt.Errorf("there is no folder %s; %s exists", filepath.ToSlash(dir), filepath.ToSlash(above)), Next: next}
}

// FindJournal opens the journal, or returns nil if it does not exist. Commands that only read do
// not create the file.
func (s *Session) FindJournal() (*journal.Journal, error) {
	if f := s.JournalFile(); f.Path != journal.Memory && !f.exists() {
		return nil, nil
	}
	return s.openJournal()
}
