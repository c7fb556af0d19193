package appfile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// apiVersion is the API version of PipeCD files.
const apiVersion = "pipecd.dev/v1beta1"

// Load reads an application. name is its file or a folder, with slashes, relative to fsys ("." is
// its root). In a folder the application file is app.pipecd.yaml, another *.pipecd.yaml or
// sluice.yaml, and there must be only one. Load reads definitions relative to the application file.
//
// lookup returns values that a format takes from its environment. None of the three formats does,
// so lookup may be nil.
//
// Load returns all problems of the files together, as joined [*definition.Problem]s.
func Load(fsys fs.FS, name string, lookup func(key string) (string, bool)) (*Application, error) {
	file, err := find(fsys, name)
	if err != nil {
		return nil, &sluice.Error{Op: "read the application", Resource: name, Err: err,
			Next: "name the application file, or a folder that holds one app.pipecd.yaml or sluice.yaml"}
	}
	l := &loader{fsys: fsys, app: &Application{File: file, Source: map[string]string{}}}
	data, err := l.read(file)
	if err != nil {
		return nil, &sluice.Error{Op: "read the application", Resource: file, Err: reason(err),
			Next: "put a regular file into the folder of the application, under this name"}
	}
	if l.src, err = definition.Parse(file, data); err != nil {
		return nil, err
	}
	l.src.HideSecrets()
	l.application()
	if err := errors.Join(definition.JoinProblems(l.problems), errors.Join(l.others...)); err != nil {
		return nil, flat(err)
	}
	return l.app, nil
}

// flattenErrors returns a tree of joined errors as one joined list.
func flat(err error) error {
	var all []error
	var walk func(error)
	walk = func(err error) {
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range joined.Unwrap() {
				walk(e)
			}
			return
		}
		all = append(all, err)
	}
	walk(err)
	return errors.Join(all...)
}

// findFile returns the application file for a name.
func find(fsys fs.FS, name string) (string, error) {
	name = path.Clean(name)
	if !fs.ValidPath(name) {
		return "", errors.New("the path leads out of the folder")
	}
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return "", reason(err)
	}
	if !info.IsDir() {
		return name, nil
	}
	found, err := candidates(fsys, name)
	switch {
	case err != nil:
		return "", reason(err)
	case len(found) == 0:
		return "", errors.New("the folder holds no application file")
	case len(found) > 1:
		return "", fmt.Errorf("the folder holds %d application files: %s", len(found), strings.Join(found, ", "))
	}
	return path.Join(name, found[0]), nil
}

// listCandidates returns the application files of a folder, with app.pipecd.yaml first.
func candidates(fsys fs.FS, dir string) ([]string, error) {
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
	for _, e := range entries {
		if !e.IsDir() && e.Name() == "sluice.yaml" {
			found = append(found, e.Name())
		}
	}
	return found, nil
}

// withoutPath returns why a file cannot be read, without the name of the file.
func reason(err error) error {
	var p *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("there is no such file")
	case errors.As(err, &p):
		return p.Err
	}
	return err
}

// loader reads the files of one application.
type loader struct {
	fsys     fs.FS
	src      *definition.Source
	app      *Application
	problems []*definition.Problem // of the application file
	others   []error               // of the definitions
}

// readFile reads a file and records its digest.
func (l *loader) read(name string) ([]byte, error) {
	data, err := fs.ReadFile(l.fsys, name)
	if err == nil {
		sum := sha256.Sum256(data)
		l.app.Source[name] = hex.EncodeToString(sum[:])
	}
	return data, err
}

// loadApplication determines the format, checks the file against its tables and reads the values.
func (l *loader) application() {
	root := l.src.Root
	format, spec, ok := l.envelope(root)
	if !ok {
		return
	}
	l.app.Format = format
	path := "spec"
	if format == Sluice {
		path = ""
	}
	c := &checker{src: l.src, format: format}
	c.object(spec, specShape(format), path)
	l.problems = append(l.problems, c.problems...)
	l.fill(spec)
	l.note(c.piped)
}

// readEnvelope returns the format of a file and the node under its spec.
func (l *loader) envelope(root *definition.Node) (Format, *definition.Node, bool) {
	if root.Kind != definition.Map {
		l.refuse(l.src.At(root, "an application file is a map, and this is %s", root.Kind))
		return "", nil, false
	}
	if root.Get("kind") == nil && root.Get("apiVersion") == nil {
		return Sluice, root, true
	}
	l.envelopeKeys(root)
	format, ok := l.kind(root)
	if !ok {
		return "", nil, false
	}
	if spec := root.Get("spec"); given(spec) {
		return format, spec, true
	}
	l.refuse(l.src.At(root, "the file has no spec"))
	return "", nil, false
}

func (l *loader) refuse(p *definition.Problem) { l.problems = append(l.problems, p) }

// checkEnvelopeKeys refuses keys next to spec, and another API version.
func (l *loader) envelopeKeys(root *definition.Node) {
	names, seen := []string{"apiVersion", "kind", "spec"}, map[string]bool{}
	for _, e := range root.Entries {
		switch {
		case seen[e.Key]:
			l.refuse(l.src.AtKey(e, "%s is given twice", e.Key))
		case !slices.Contains(names, e.Key):
			p := l.src.AtKey(e, "unknown key %q beside spec", e.Key)
			p.Meant = definition.Nearest(e.Key, names)
			l.refuse(p)
		}
		seen[e.Key] = true
	}
	v := root.Get("apiVersion")
	if !given(v) {
		l.refuse(l.src.At(root, "the file has no apiVersion: PipeCD's is %s", apiVersion))
	} else if v.Text != apiVersion || v.Kind != definition.Text {
		l.refuse(l.src.At(v, "apiVersion is %s, and this is another", apiVersion))
	}
}

func (l *loader) kind(root *definition.Node) (Format, bool) {
	k := root.Get("kind")
	if !given(k) {
		l.refuse(l.src.At(root, "the file has no kind: ECSApp (PipeCD v0) or Application (PipeCD v1)"))
		return "", false
	}
	switch k.Text {
	case "ECSApp":
		return PipeCDv0, true
	case "Application":
		return PipeCDv1, true
	}
	p := l.src.At(k, "kind %q is none of ECS: ECSApp (PipeCD v0) or Application (PipeCD v1)", k.Text)
	p.Meant = definition.Nearest(k.Text, []string{"ECSApp", "Application"})
	l.refuse(p)
	return "", false
}

// notePipedKeys adds a note that lists the keys that only piped uses.
func (l *loader) note(keys []string) {
	if len(keys) > 0 {
		l.app.Notes = append(l.app.Notes, fmt.Sprintf("read past, piped acts on them: %s", strings.Join(keys, ", ")))
	}
}
