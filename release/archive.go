package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"
)

// entry is a file of an archive. A name that ends with a slash is a folder.
type entry struct {
	name string
	mode int64
	data []byte
}

const (
	programMode = 0o755
	fileMode    = 0o644
)

// packTarGz packs entries, sorted by name, all with the time at and the user and group 0 without names.
func packTarGz(entries []entry, at time.Time) ([]byte, error) {
	data, err := packTar(entries, at)
	if err != nil {
		return nil, err
	}
	return compress(data)
}

// compress writes gzip without a name and a time.
func compress(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	err = w.Close() // writes the end
	return b.Bytes(), err
}

func packTar(entries []entry, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range sorted(entries) {
		if err := w.WriteHeader(tarHeader(e, at)); err != nil {
			return nil, fmt.Errorf("%s: %w", e.name, err)
		}
		if _, err := w.Write(e.data); err != nil {
			return nil, fmt.Errorf("%s: %w", e.name, err)
		}
	}
	err := w.Close() // writes the end
	return b.Bytes(), err
}

func tarHeader(e entry, at time.Time) *tar.Header {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: e.mode, Size: int64(len(e.data)), ModTime: at,
		Format: tar.FormatUSTAR}
	if e.name[len(e.name)-1] == '/' {
		h.Typeflag = tar.TypeDir
	}
	return h
}

func packZip(entries []entry, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range sorted(entries) {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: at}
		h.SetMode(os.FileMode(e.mode))
		f, err := w.CreateHeader(h)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.name, err)
		}
		if _, err := io.Copy(f, bytes.NewReader(e.data)); err != nil {
			return nil, fmt.Errorf("%s: %w", e.name, err)
		}
	}
	err := w.Close() // writes the end
	return b.Bytes(), err
}

func sorted(entries []entry) []entry {
	return slices.SortedFunc(slices.Values(entries), func(a, b entry) int { return cmp.Compare(a.name, b.name) })
}

// archiveName is the name of the archive of sluice for a platform: sluice_1.2.3_linux_amd64.tar.gz.
func (r *Release) archiveName(p Platform) string {
	name := fmt.Sprintf("sluice_%s_%s_%s", r.Number(), p.OS, p.Arch)
	if p.OS == "windows" {
		return name + ".zip"
	}
	return name + ".tar.gz"
}

// writeArchives writes the archives of sluice, and beside each the list of its modules.
func (r *Release) writeArchives(d *dist) error {
	for _, b := range r.binariesOf(sluiceCommand) {
		entries, err := r.archiveEntries(b)
		if err != nil {
			return err
		}
		for name, page := range r.Pages.Manual {
			entries = append(entries, entry{"man/man1/" + name, fileMode, page})
		}
		for name, script := range r.Pages.Completions {
			entries = append(entries, entry{"completions/" + name, fileMode, script})
		}
		pack := packTarGz
		if b.Platform.OS == "windows" {
			pack = packZip
		}
		if err := r.writeArchive(d, r.archiveName(b.Platform), b, entries, pack); err != nil {
			return err
		}
	}
	return nil
}

// archiveEntries are the files that every archive has: the program, the readme and the licences.
func (r *Release) archiveEntries(b Binary) ([]entry, error) {
	program, err := os.ReadFile(b.Path)
	if err != nil {
		return nil, err
	}
	texts, err := r.licenses.texts(b)
	if err != nil {
		return nil, err
	}
	return []entry{{b.Command + b.Platform.exe(), programMode, program}, {"LICENSE", fileMode, r.License},
		{"README.md", fileMode, r.Readme}, {licensesFile, fileMode, texts}}, nil
}

// writeArchive writes the archive of a binary, and beside it the list of the binary's modules.
func (r *Release) writeArchive(d *dist, name string, b Binary, entries []entry,
	pack func([]entry, time.Time) ([]byte, error)) error {
	data, err := pack(entries, r.Time)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := d.write(name, data); err != nil {
		return err
	}
	return r.writeModules(d, name, b)
}

// writeModules writes the list of a binary's modules beside a file that has the binary.
func (r *Release) writeModules(d *dist, name string, b Binary) error {
	list, err := r.billOfMaterials(b, name, d.sum(name))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return d.write(name+".cdx.json", list)
}

func sortedNames(m map[string][]byte) []string { return slices.Sorted(maps.Keys(m)) }
