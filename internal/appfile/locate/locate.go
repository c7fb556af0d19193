// Package locate finds the application file of a folder.
package locate

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Names of definition files that no application file names.
const (
	TaskFile    = "taskdef.json"
	ServiceFile = "servicedef.json" // of a folder without an application file
)

// File returns the application file for a name.
func File(fsys fs.FS, name string) (string, error) {
	name = path.Clean(name)
	if !fs.ValidPath(name) {
		return "", errors.New("the path is outside the folder")
	}
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return "", WithoutPath(err)
	}
	if !info.IsDir() {
		return name, nil
	}
	file, err := folderFile(fsys, name)
	if file == "" && err == nil {
		err = NoFileError{applicationsBelow(fsys, name)}
	}
	return file, err
}

// folderFile returns the application file of a folder, or "" if it has none.
func folderFile(fsys fs.FS, name string) (string, error) {
	found, err := listCandidates(fsys, name)
	switch {
	case err != nil:
		return "", WithoutPath(err)
	case len(found) == 0 && isFile(fsys, path.Join(name, TaskFile)) &&
		isFile(fsys, path.Join(name, ServiceFile)):
		return path.Join(name, ServiceFile), nil
	case len(found) == 0:
		return "", nil
	case len(found) > 1:
		return "", SeveralError{found}
	}
	return path.Join(name, found[0]), nil
}

// SeveralError is a folder with several application files.
type SeveralError struct{ Found []string }

func (e SeveralError) Error() string {
	return fmt.Sprintf("the folder has %d application files: %s", len(e.Found), strings.Join(e.Found, ", "))
}

// absoluteNames is a folder that knows where on the machine it is.
type absoluteNames interface {
	// NameOf returns the name in the folder of a file with an absolute path. It returns false for a file outside.
	NameOf(path string) (name string, ok bool)
}

// NameOf returns the name in fsys of a file with an absolute path. It returns false for a file outside, and for a
// path that is not absolute.
func NameOf(fsys fs.FS, name string) (file string, ok bool) {
	folder, hasNames := fsys.(absoluteNames)
	if !hasNames {
		return "", false
	}
	return folder.NameOf(name)
}

// NamedBy returns the path in fsys of a file that another file names: relative to the folder of that file, or
// absolute. It returns false for a file outside of that folder.
func NamedBy(fsys fs.FS, from, name string) (file string, ok bool) {
	dir := path.Dir(from)
	if file, ok := NameOf(fsys, name); ok {
		return file, dir == "." || strings.HasPrefix(file, dir+"/")
	}
	return path.Join(dir, name), !path.IsAbs(name) && fs.ValidPath(path.Clean(name))
}

// listCandidates returns the application files of a folder, with app.pipecd.yaml first.
func listCandidates(fsys fs.FS, dir string) ([]string, error) {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, e := range entries {
		if !e.IsDir() && strings.HasSuffix(e.Name(), ".pipecd.yaml") {
			found = append(found, e.Name())
		}
	}
	if i := slices.Index(found, "app.pipecd.yaml"); i > 0 {
		found = slices.Insert(slices.Delete(found, i, i+1), 0, "app.pipecd.yaml")
	}
	own := sluiceFiles(entries)
	found = append(found, own...)
	for _, name := range ecspressoFiles() {
		if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !e.IsDir() && e.Name() == name }) {
			if slices.ContainsFunc(own, func(file string) bool { return readsEcspresso(fsys, path.Join(dir, file)) }) {
				return found, nil
			}
			return append(found, name), nil
		}
	}
	return found, nil
}

// readsEcspresso reports whether a sluice.yaml names a configuration of ecspresso, which is no application then.
func readsEcspresso(fsys fs.FS, file string) bool {
	data, err := fs.ReadFile(fsys, file)
	return err == nil && namesEcspresso.Match(data)
}

// sluiceFiles returns sluice.yaml, or without it the files of environments, such as sluice.prod.yaml.
func sluiceFiles(entries []fs.DirEntry) (found []string) {
	for _, e := range entries {
		switch {
		case e.IsDir():
		case e.Name() == "sluice.yaml":
			return []string{e.Name()}
		case strings.HasPrefix(e.Name(), "sluice.") && strings.HasSuffix(e.Name(), ".yaml"):
			found = append(found, e.Name())
		}
	}
	return found
}

// isFile reports whether a name is a file and not a folder.
func isFile(fsys fs.FS, name string) bool {
	info, err := fs.Stat(fsys, name)
	return err == nil && !info.IsDir()
}

// WithoutPath returns why a file cannot be read, without the name of the file.
func WithoutPath(err error) error {
	var p *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("the file does not exist")
	case errors.As(err, &p):
		return p.Err
	}
	return err
}

// ecspressoFiles returns the names of ecspresso's configuration in a folder. It reads the first that exists.
func ecspressoFiles() []string {
	return []string{"ecspresso.yml", "ecspresso.yaml", "ecspresso.json", "ecspresso.jsonnet"}
}

// ecspressoKey is a key that a configuration of ecspresso has and no other application file: at the start of
// a line of YAML or JSON.
var ecspressoKey = regexp.MustCompile(
	`(?m)^[ \t{]*["']?(?:task_definition|service_definition|express_definition)["']?[ \t]*:`)

// namesEcspresso matches the key ecspresso of a sluice.yaml, also in one of its environments.
var namesEcspresso = regexp.MustCompile(`(?m)^[ \t]*["']?ecspresso["']?[ \t]*:`)

// IsEcspresso reports whether a file is a configuration of ecspresso, by its name or by its keys.
func IsEcspresso(file string, data []byte) bool {
	return slices.Contains(ecspressoFiles(), path.Base(file)) || path.Ext(file) == ".jsonnet" || ecspressoKey.Match(data)
}
