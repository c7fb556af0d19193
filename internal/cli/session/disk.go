package session

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/sluice-ecs/sluice/internal/definition"
)

// Disk is the folders and files of this machine. Its methods take paths of the command line, relative to the working
// directory.
type Disk struct {
	Getwd func() (string, error)
	FS    func(dir string) fs.FS
}

func (d Disk) absolute(path string) (string, error) {
	if filepath.IsAbs(path) {
		return path, nil
	}
	wd, err := d.Getwd()
	return filepath.Join(wd, path), err
}

// ReadFile reads a regular file that is named on the command line.
func (d Disk) ReadFile(path string) ([]byte, error) {
	abs, err := d.absolute(path)
	if err != nil {
		return nil, err
	}
	data, err := fs.ReadFile(d.FS(filepath.Dir(abs)), filepath.Base(abs))
	var why *fs.PathError
	if errors.As(err, &why) {
		err = why.Err
	}
	return data, err
}

// Exists reports whether a file or a folder is at a path.
func (d Disk) Exists(path string) bool {
	abs, err := d.absolute(path)
	if err != nil {
		return false
	}
	_, err = fs.Stat(d.FS(filepath.Dir(abs)), filepath.Base(abs))
	return err == nil || !errors.Is(err, fs.ErrNotExist)
}

// nearFolder returns the folder beside a path that does not exist whose name was probably meant, or "".
func (d Disk) nearFolder(path string) string {
	names := d.namesIn(filepath.Dir(path), fs.DirEntry.IsDir)
	if near := definition.Nearest(filepath.Base(path), names); near != "" {
		return filepath.ToSlash(filepath.Join(filepath.Dir(path), near))
	}
	return ""
}

// namesIn returns the names in a folder that are kept. A folder that cannot be read has none.
func (d Disk) namesIn(dir string, isKept func(fs.DirEntry) bool) (names []string) {
	abs, err := d.absolute(dir)
	if err != nil {
		return nil
	}
	all, err := fs.ReadDir(d.FS(abs), ".")
	if err != nil {
		return nil
	}
	for _, e := range all {
		if isKept(e) {
			names = append(names, e.Name())
		}
	}
	return names
}

// AdviseYAML returns which file was probably meant by the path of a YAML file, or "", and why that cannot be read. It is one
// with a near name, or the one with the usual name, in the folder of the path or in one with a near name.
func (d Disk) AdviseYAML(path, usual string, err error) (meant string, why error) {
	dir, what := filepath.Dir(path), "there is no such file"
	if abs, absErr := d.absolute(path); absErr == nil && d.isFolder(abs) {
		dir, what = path, "it is a folder"
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	} else if near := d.nearFolder(dir); near != "" && !d.Exists(dir) {
		dir, what = near, "there is no folder "+filepath.ToSlash(dir)
	}
	files := d.namesIn(dir, func(e fs.DirEntry) bool {
		return !e.IsDir() && slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(e.Name()))
	})
	if len(files) == 0 {
		return "", errors.New(what)
	}
	meant = definition.Nearest(filepath.Base(path), files)
	if meant == "" && slices.Contains(files, usual) {
		meant = usual
	}
	if meant != "" {
		meant = filepath.ToSlash(filepath.Join(dir, meant))
	}
	return meant, fmt.Errorf("%s; %s has %s", what, filepath.ToSlash(dir), definition.ListNames(files))
}

func (d Disk) isFolder(abs string) bool {
	info, err := fs.Stat(d.FS(abs), ".")
	return err == nil && info.IsDir()
}
