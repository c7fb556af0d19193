package main

import (
	"bytes"
	"cmp"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	classifier "github.com/google/licenseclassifier/v2"
	"github.com/google/licenseclassifier/v2/assets"
	"golang.org/x/mod/module"
)

// licensesFile is the name of the file with the licences of all modules in a binary.
const licensesFile = "THIRD_PARTY_LICENSES.txt"

// licenseReader reads the licences of modules from the module cache, where building the binary put them.
type licenseReader struct {
	cache, goRoot string
	classifier    *classifier.Classifier
	known         map[string]licence // by folder
}

// licence is the text of a module's licence files, and their names in the list of SPDX.
type licence struct {
	text []byte
	ids  []string // at least one, sorted
}

func newLicenseReader(ctx context.Context) (*licenseReader, error) {
	out, err := output(exec.CommandContext(ctx, "go", "env", "GOMODCACHE", "GOROOT"))
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.ReplaceAll(string(out), "\r", ""), "\n")
	c := classifier.NewClassifier(0.8) // the threshold of the library's own classifier
	for _, file := range acceptedLicenses {
		text, err := assets.ReadLicenseFile("License/" + file)
		if err != nil {
			return nil, err
		}
		id, variant := path.Split(file)
		c.AddContent("License", path.Clean(id), variant, text)
	}
	return &licenseReader{cache: lines[0], goRoot: lines[1], classifier: c, known: map[string]licence{}}, nil
}

// acceptedLicenses are the texts of the licences under which sluice takes modules, each in a folder with its SPDX name:
// those that allow to give the binary to others under the Apache License. A module under another one fails the release.
var acceptedLicenses = []string{"Apache-2.0/pristine.txt", "Apache-2.0/no-header.txt", "BSD-2-Clause/pristine.txt",
	"BSD-3-Clause/pristine.txt", "ISC/pristine.txt", "MIT/pristine.txt", "MPL-2.0/pristine.txt"}

// modulesOf lists the modules that are linked into a binary, without the main module. The standard library is the
// module "std".
func modulesOf(b Binary) ([]*debug.Module, error) {
	info, err := buildinfo.ReadFile(b.Path)
	if err != nil {
		return nil, err
	}
	all := []*debug.Module{{Path: "std", Version: strings.TrimPrefix(firstWord(info.GoVersion), "go")}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b *debug.Module) int { return cmp.Compare(a.Path, b.Path) })
	return all, nil
}

// firstWord leaves out the experiments in a version of Go.
func firstWord(s string) string {
	word, _, _ := strings.Cut(s, " ")
	return word
}

// texts joins the licences of all modules in a binary.
func (r *licenseReader) texts(b Binary) ([]byte, error) {
	modules, err := modulesOf(b)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s contains code of these modules, under the licences below.\n", b.Command)
	for _, m := range modules {
		l, err := r.licenceOf(m)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, "\n%s\n%s %s: %s\n%s\n\n%s\n", strings.Repeat("=", 80), m.Path, m.Version,
			strings.Join(l.ids, ", "), strings.Repeat("=", 80), bytes.TrimSpace(l.text))
	}
	return out.Bytes(), nil
}

// licenceOf reads the licence of a module. A module without one, or with one that is not recognized, is an error: its
// code may not be given to others before a person has read under what terms it may.
func (r *licenseReader) licenceOf(m *debug.Module) (licence, error) {
	dir := r.goRoot
	if m.Path != "std" {
		escaped, err := module.EscapePath(m.Path)
		if err != nil {
			return licence{}, err
		}
		version, err := module.EscapeVersion(m.Version)
		if err != nil {
			return licence{}, err
		}
		dir = filepath.Join(r.cache, escaped+"@"+version)
	}
	if l, ok := r.known[dir]; ok {
		return l, nil
	}
	l, err := r.readFolder(dir)
	if err != nil {
		return licence{}, fmt.Errorf("licence of %s %s: %w", m.Path, m.Version, err)
	}
	r.known[dir] = l
	return l, nil
}

// licenceName are the names of files with a licence, or with notices that a licence requires to be passed on.
var licenceName = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|notice|patents)([-_.].*)?$`)

func (r *licenseReader) readFolder(dir string) (licence, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return licence{}, err
	}
	var l licence
	for _, f := range files {
		if f.IsDir() || !licenceName.MatchString(f.Name()) || strings.HasSuffix(f.Name(), ".go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return licence{}, err
		}
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
		l.text = append(append(l.text, bytes.TrimSpace(text)...), "\n\n"...)
		for _, match := range r.classifier.Match(text).Matches {
			if match.MatchType == "License" {
				l.ids = append(l.ids, match.Name)
			}
		}
	}
	slices.Sort(l.ids)
	l.ids = slices.Compact(l.ids)
	switch {
	case len(l.text) == 0:
		return licence{}, fmt.Errorf("there is no licence file in %s", dir)
	case len(l.ids) == 0:
		return licence{}, fmt.Errorf("the licence in %s is none that is known", dir)
	}
	return l, nil
}
