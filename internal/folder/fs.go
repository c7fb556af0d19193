package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sluice-ecs/sluice/internal/filekind"
)

// Limit is how many bytes of a file are read. AWS takes task definitions of 64 KiB
// ("Amazon ECS service quotas").
const Limit = 256 << 10

// ErrOutside is in the error tree for a name or a symbolic link that leads out of the folder.
var ErrOutside = errors.New("it leads out of the folder")

// FS is a folder of this machine. The zero value is not usable.
type FS struct{ dir string }

// New returns the folder at a path.
func New(dir string) fs.FS { return FS{dir} }

// Open opens a regular file or a folder below the folder. It follows a symbolic link as long as the
// target is inside.
//
// It checks a file before opening it, because opening a named pipe would block. It checks the file
// again afterwards, because another process may have exchanged it.
func (f FS) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, openError(name, ErrOutside)
	}
	root, err := f.openRoot()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	local := filepath.FromSlash(name)
	before, err := root.Stat(local)
	if err != nil {
		return nil, openError(name, outsideError(root, local, err))
	}
	if err := checkReadable(before); err != nil {
		return nil, openError(name, err)
	}
	opened, err := root.OpenFile(local, os.O_RDONLY|withoutBlocking, 0)
	if err != nil {
		return nil, openError(name, outsideError(root, local, err))
	}
	after, err := opened.Stat()
	if err == nil {
		err = checkReadable(after)
	}
	if err != nil {
		opened.Close()
		return nil, openError(name, err)
	}
	if after.IsDir() {
		return opened, nil
	}
	return &file{source: opened, remaining: Limit}, nil
}

// openRoot opens the folder itself. It refuses other kinds of files: opening a named pipe would
// block.
func (f FS) openRoot() (*os.Root, error) {
	info, err := os.Stat(f.dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: f.dir, Err: errors.New("it is not a folder")}
	}
	return os.OpenRoot(f.dir)
}

// NameOf returns the name of a file below the folder by its absolute path. It returns false for a file outside. The
// path may have the folder's own name or the one without symbolic links.
func (f FS) NameOf(path string) (name string, ok bool) {
	if !filepath.IsAbs(path) {
		return "", false
	}
	dirs := []string{f.dir}
	if resolved, err := filepath.EvalSymlinks(f.dir); err == nil {
		dirs = append(dirs, resolved)
	}
	for _, dir := range dirs {
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), true
		}
	}
	return "", false
}

func openError(name string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return &fs.PathError{Op: "open", Path: name, Err: err}
}

// checkReadable refuses a file that is neither a folder nor a regular file within the limit.
func checkReadable(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return nil
	case info.Mode().IsRegular() && info.Size() > Limit:
		return fmt.Errorf("the file has %d bytes; the limit is %d", info.Size(), Limit)
	}
	return filekind.Check(info)
}

// outsideError replaces the error of a path that leads out of the root by [ErrOutside]. Package os
// does not export its error.
func outsideError(root *os.Root, name string, err error) error {
	var path, escape *fs.PathError
	_, outside := root.Lstat("..")
	if !errors.As(outside, &escape) || !errors.As(err, &path) || !errors.Is(path.Err, escape.Err) {
		return err
	}
	if info, lerr := root.Lstat(name); lerr == nil && info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("it is a symbolic link, and %w", ErrOutside)
	}
	return ErrOutside
}

// Stat describes a file or a folder without opening it.
func (f FS) Stat(name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) {
		return nil, openError(name, ErrOutside)
	}
	root, err := f.openRoot()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(filepath.FromSlash(name))
	if err != nil {
		return nil, openError(name, outsideError(root, filepath.FromSlash(name), err))
	}
	return info, nil
}

// file is an open file that limits how many bytes are read. A file may contain more than the size
// that its file system reports.
type file struct {
	source    *os.File
	remaining int
}

func (f *file) Stat() (fs.FileInfo, error) { return f.source.Stat() }
func (f *file) Close() error               { return f.source.Close() }

func (f *file) Read(p []byte) (int, error) {
	n, err := f.source.Read(p[:min(len(p), max(f.remaining, 1))])
	if n > f.remaining {
		return 0, fmt.Errorf("the file has more than %d bytes, which is the limit", Limit)
	}
	f.remaining -= n
	return n, err
}
