package session

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/sluice-ecs/sluice"
)

// OpenRoot returns the folder that the key root of a sluice.yaml names, and the name in it of the folder of that file. It
// must be inside the repository of git that has the file, or without one inside the working directory: files may come from
// others.
func (d Disk) OpenRoot(at ApplicationLocation, root string) (files fs.FS, folder string, err error) {
	dir, err := filepath.EvalSymlinks(at.dir)
	if err != nil {
		return nil, "", err
	}
	top := filepath.Join(dir, filepath.FromSlash(root))
	folder, isAbove := nameBelow(top, dir)
	switch {
	case filepath.IsAbs(root) || !isAbove:
		return nil, "", &sluice.Error{Err: fmt.Errorf("%s does not contain the folder of the file", root),
			Next: "name a folder above it, such as root: .."}
	case !d.mayRead(dir, top):
		return nil, "", d.notReadable(dir, root)
	}
	return d.FS(top), folder, nil
}

// mayRead reports whether a folder above dir is inside the repository of dir, or without one inside the working directory.
func (d Disk) mayRead(dir, top string) bool {
	limit := d.repositoryOf(dir)
	if limit == "" {
		wd, err := d.Getwd()
		if err != nil {
			return false
		}
		if limit, err = filepath.EvalSymlinks(wd); err != nil {
			return false
		}
	}
	_, isBelow := nameBelow(limit, top)
	return isBelow
}

// notReadable returns the error of a root that is outside the repository and the working directory.
func (d Disk) notReadable(dir, root string) error {
	if d.repositoryOf(dir) == "" {
		return &sluice.Error{Err: fmt.Errorf("the folder is in no repository of git, and %s is not below the working directory",
			root), Next: "run the command in a folder that contains both"}
	}
	return &sluice.Error{Err: fmt.Errorf("%s is outside the repository of git", root),
		Next: "name a folder of the repository that has the file"}
}

// repositoryOf returns the folder of the repository that has a folder, or "".
func (d Disk) repositoryOf(dir string) string {
	for {
		_, err := fs.Stat(d.FS(dir), ".git")
		if err == nil || !errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir {
			return dir
		}
		if filepath.Dir(dir) == dir {
			return ""
		}
		dir = filepath.Dir(dir)
	}
}

// nameBelow returns the name of a path below a folder, with slashes.
func nameBelow(dir, path string) (name string, isBelow bool) {
	rel, err := filepath.Rel(dir, path)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}
