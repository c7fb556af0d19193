package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// WriteAll writes all files of the release to the folder dir.
func (r *Release) WriteAll(dir string) error {
	if old, err := os.ReadDir(dir); err == nil && len(old) > 0 {
		return fmt.Errorf("%s has files of an earlier build: delete it", dir)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	d := &dist{dir: dir}
	for _, write := range []func(*dist) error{r.writeArchives, r.writePackages, r.writeImage, r.writePulumi, r.writePiped,
		r.writeTerraform, r.writeHomebrew, r.writeScoop} {
		if err := write(d); err != nil {
			return err
		}
	}
	return d.writeChecksums("checksums.txt", func(string) bool { return true })
}

// dist is the folder of a release, and the checksums of what is in it.
type dist struct {
	dir   string
	files []distFile // in the order in which they were written
}

type distFile struct {
	name string
	sum  [sha256.Size]byte
}

func (d *dist) write(name string, data []byte) error {
	d.files = append(d.files, distFile{name, sha256.Sum256(data)})
	return os.WriteFile(filepath.Join(d.dir, name), data, 0o644)
}

func (d *dist) read(name string) ([]byte, error) { return os.ReadFile(filepath.Join(d.dir, name)) }

// sum returns the checksum of a file that was written, in hexadecimal digits; "" if there is no such file.
func (d *dist) sum(name string) string {
	for _, f := range d.files {
		if f.name == name {
			return fmt.Sprintf("%x", f.sum)
		}
	}
	return ""
}

// writeChecksums writes the checksums of the files for which has is true, in the form of sha256sum.
func (d *dist) writeChecksums(name string, has func(name string) bool) error {
	var b strings.Builder
	for _, f := range d.files {
		if has(f.name) {
			fmt.Fprintf(&b, "%x  %s\n", f.sum, f.name)
		}
	}
	return d.write(name, []byte(b.String()))
}
