package appfile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile/locate"
	"github.com/sluice-ecs/sluice/internal/appfile/values"
	"github.com/sluice-ecs/sluice/internal/definition"
)

const rootSentence = "A folder above this file, relative to it, such as ../..: definitions may be anywhere below it. It is " +
	"inside the repository of git, or without one inside the working directory. Default: the folder of this file."

// rootFolder is the folder that the key root names.
type rootFolder struct {
	files  fs.FS
	folder string // the folder of the application file, in files
}

// MayHaveRoot reports whether an application file may have the key root, without evaluating it: it says so somewhere.
func MayHaveRoot(fsys fs.FS, name string) (bool, error) {
	file, err := locate.File(fsys, name)
	if err != nil {
		return false, err
	}
	data, err := fs.ReadFile(fsys, file)
	return err == nil && !locate.IsEcspresso(file, data) && bytes.Contains(data, []byte("root")), err
}

// openRoot opens the folder that the key root names.
func (l *loader) openRoot(at *definition.Node) {
	name := values.Text(at)
	if name == "" {
		return
	}
	err := errors.New("only the command line reads files outside the folder")
	if l.from != nil {
		var files fs.FS
		var folder string
		if files, folder, err = l.from.OpenRoot(name); err == nil {
			l.root = &rootFolder{files, folder}
			return
		}
	}
	p := l.src.At(at, "root: %v", err)
	p.Next = cmp.Or(sluice.NextStep(err), "remove the key, and move the definitions into the folder of the file")
	l.addProblem(p)
}

// readDefinition reads a file that the application file names: in its folder or below, or below the root.
func (l *loader) readDefinition(name string) (file string, data []byte, err error) {
	if l.root == nil {
		file, ok := locate.NamedBy(l.fsys, l.app.File, name)
		if !ok {
			return "", nil, l.outsideError(name)
		}
		data, err = l.readFile(file)
		return file, data, err
	}
	inRoot := path.Join(l.root.folder, name)
	if path.IsAbs(name) || !fs.ValidPath(inRoot) {
		return "", nil, &sluice.Error{Err: fmt.Errorf("%s is outside the root", name),
			Next: "name a file below the folder that root names"}
	}
	file = path.Join(path.Dir(l.app.File), name)
	data, err = l.readFrom(l.root.files, inRoot, file)
	return file, data, err
}

// outsideError is the error of a definition outside of the folder, if the file has no root.
func (l *loader) outsideError(name string) error {
	outside := &sluice.Error{Err: fmt.Errorf("%s is outside the folder", name)}
	up := path.Clean(name)
	levels := 0
	for ; strings.HasPrefix(up, "../"); levels++ {
		up = strings.TrimPrefix(up, "../")
	}
	switch {
	case l.evaluator != nil:
		outside.Next = "move the file into the folder of the configuration: a deployment reads no file outside of it"
	case l.app.Format == Sluice && levels > 0:
		outside.Next = "add a root above both, inside the repository: root: " +
			strings.TrimSuffix(strings.Repeat("../", levels), "/")
	}
	return outside
}
