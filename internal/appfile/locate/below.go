package locate

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

const (
	// maxNamed is how many folders the text of [NoFileError] names.
	maxNamed = 5
	// maxDepth is how far below a folder applications are looked for, and maxFolders in how many folders.
	maxDepth, maxFolders = 2, 300
)

// NoFileError is a folder without an application file.
type NoFileError struct {
	Below []string // folders of applications below it, relative to it
}

func (e NoFileError) Error() string {
	text := "the folder has no application file"
	switch n := len(e.Below); {
	case n == 1:
		text += ", but this has: " + e.Below[0]
	case n > maxNamed:
		text += fmt.Sprintf(", but these have: %s and %d more", strings.Join(e.Below[:maxNamed], ", "), n-maxNamed)
	case n > 1:
		text += ", but these have: " + strings.Join(e.Below, ", ")
	}
	return text
}

// applicationsBelow returns the folders below a folder that have an application file, those near to it first. It skips
// folders whose name begins with a dot, and reads few folders: the folder may be the root of a disk.
func applicationsBelow(fsys fs.FS, name string) (found []string) {
	read := 0
	folders := []string{"."}
	for range maxDepth {
		var deeper []string
		for _, dir := range folders {
			entries, err := fs.ReadDir(fsys, path.Join(name, dir))
			if err != nil {
				continue
			}
			for _, e := range entries {
				if read == maxFolders || !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
					continue
				}
				read++
				if sub := path.Join(dir, e.Name()); hasApplication(fsys, path.Join(name, sub)) {
					found = append(found, sub)
				} else {
					deeper = append(deeper, sub)
				}
			}
		}
		folders = deeper
	}
	return found
}

// hasApplication reports whether a folder has an application file, or several.
func hasApplication(fsys fs.FS, dir string) bool {
	file, err := folderFile(fsys, dir)
	return file != "" || errors.As(err, new(SeveralError))
}
