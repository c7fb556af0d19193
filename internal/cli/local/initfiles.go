package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/appfile/render"
	"github.com/sluice-ecs/sluice/internal/folder"
	"github.com/sluice-ecs/sluice/internal/replica"
)

// initFile is one file to write.
type initFile struct {
	name string
	data []byte
}

// writeAll writes all files, or none. It writes them into a draft folder next to their place and checks
// them first.
func writeAll(target, dir string, files []initFile) (err error) {
	explain := func(err error) error {
		var why *fs.PathError
		if errors.As(err, &why) {
			err = why.Err
		}
		return &sluice.Error{Op: "sluice init", Resource: dir, Err: fmt.Errorf("write the files: %w", err),
			Next: "name another folder; nothing was written"}
	}
	if err := os.MkdirAll(target, 0o755); err != nil {
		return explain(err)
	}
	draft, err := os.MkdirTemp(target, ".sluice-init-")
	if err != nil {
		return explain(err)
	}
	defer func() {
		if draft != "" {
			err = errors.Join(err, os.RemoveAll(draft))
		}
	}()
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(draft, f.name), f.data, 0o644); err != nil {
			return explain(err)
		}
	}
	if err := checkDraft(target, draft, files); err != nil {
		return fmt.Errorf("sluice init: the files would not be valid, so nothing was written: %w", err)
	}
	undo, err := replaceFiles(target, draft, files)
	if err == nil {
		return nil
	}
	if failed := undo.run(); failed != nil {
		kept := draft
		draft = "" // it has the former files, and stays
		return &sluice.Error{Op: "sluice init", Resource: dir, Err: fmt.Errorf("write the files: %w", err),
			Next: fmt.Sprintf("move the former files back from %s (%v)", kept, failed)}
	}
	return explain(err)
}

// undoList is what restores the former files.
type undoList []func() error

func (l undoList) run() (err error) {
	for _, undo := range l {
		err = errors.Join(err, undo())
	}
	return err
}

// replaceFiles moves the files from the draft to their place, and the former files into the draft.
// After an error, what it returns moves the former files back.
func replaceFiles(target, draft string, files []initFile) (undo undoList, err error) {
	former, err := os.MkdirTemp(draft, "former-")
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		place, kept := filepath.Join(target, f.name), filepath.Join(former, f.name)
		info, err := os.Lstat(place)
		isNew := errors.Is(err, fs.ErrNotExist)
		switch {
		case err != nil && !isNew:
			return undo, err
		case !isNew && info.IsDir():
			return undo, fmt.Errorf("%s is a folder", f.name)
		case !isNew:
			if err := os.Rename(place, kept); err != nil {
				return undo, err
			}
			undo = append(undo, func() error { return os.Rename(kept, place) })
		}
		if err := os.Rename(filepath.Join(draft, f.name), place); err != nil {
			return undo, err
		}
		if isNew {
			undo = append(undo, func() error { return os.Remove(place) })
		}
	}
	return undo, nil
}

// checkDraft loads the application that the files make, with the definitions of the folder if they
// are not written.
func checkDraft(target, draft string, files []initFile) error {
	var existing []string // definitions of the folder
	if len(files) == 1 {
		existing = []string{replica.TaskFile, replica.ServiceFile}
	}
	for _, name := range existing {
		data, err := fs.ReadFile(folder.New(target), name)
		if err != nil {
			return err
		}
		copied := filepath.Join(draft, name)
		if err := os.WriteFile(copied, data, 0o600); err != nil {
			return err
		}
	}
	_, err := appfile.Load(folder.New(draft), ".", &render.Environment{})
	return err
}
