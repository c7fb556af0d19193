package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk" // the package formats register themselves
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

const description = "Ships new versions of Amazon ECS services without dropping a request"

const longDescription = description + `.
It plans every write, releases a canary, sends traffic only to healthy tasks, and rolls back if the new version fails.
It includes a local AWS that runs in memory, so that a release can be tried first.`

// maintainer is the address that package formats require. Reports belong to the repository.
const maintainer = "The sluice maintainers <sluice-ecs@users.noreply.github.com>"

// writePackages writes the packages of Debian (deb), Red Hat (rpm) and Alpine (apk) for sluice on Linux.
func (r *Release) writePackages(d *dist) error {
	for _, b := range r.binariesOf(sluiceCommand) {
		if b.Platform.OS != "linux" {
			continue
		}
		for _, format := range []string{"deb", "rpm", "apk"} {
			if err := r.writePackage(d, b, format); err != nil {
				return fmt.Errorf("%s for %s: %w", format, b.Platform, err)
			}
		}
	}
	return nil
}

func (r *Release) writePackage(d *dist, b Binary, format string) error {
	dir, err := os.MkdirTemp("", "sluice-package-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	contents, err := r.packageContents(b, format, dir)
	if err != nil {
		return err
	}
	info := nfpm.WithDefaults(&nfpm.Info{Name: "sluice", Arch: b.Platform.Arch, Platform: "linux", Version: r.Version,
		Section: "admin", Priority: "optional", Maintainer: maintainer, Description: longDescription, Homepage: repository,
		License: "Apache-2.0", MTime: r.Time, DisableGlobbing: true,
		Overridables: nfpm.Overridables{Contents: contents,
			RPM: nfpm.RPM{Summary: description, BuildHost: "localhost", Compression: "gzip:9"}}})
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	if info.Target = packager.ConventionalFileName(info); info.Target == "" {
		return fmt.Errorf("the package has no name")
	}
	// In the names of prereleases nfpm has a tilde, which GitHub replaces in the names of files.
	name := strings.ReplaceAll(info.Target, "~", "-")
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	var out bytes.Buffer
	if err := packager.Package(info, &out); err != nil {
		return err
	}
	return d.write(name, out.Bytes())
}

// packageContents writes the files of a package to dir, and returns where each belongs.
func (r *Release) packageContents(b Binary, format, dir string) (files.Contents, error) {
	entries, err := r.installedFiles(b)
	if err != nil {
		return nil, err
	}
	var all files.Contents
	for i, e := range entries {
		if format == "deb" { // Debian's zsh reads another folder
			e.name = strings.Replace(e.name, "usr/share/zsh/site-functions", "usr/share/zsh/vendor-completions", 1)
		}
		source := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(source, e.data, 0o600); err != nil {
			return nil, err
		}
		all = append(all, &files.Content{Source: source, Destination: "/" + e.name, Type: files.TypeFile,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: os.FileMode(e.mode), MTime: r.Time}})
	}
	return all, nil
}

// installedFiles are the files of sluice at their places in the folders of Linux, without a leading slash.
func (r *Release) installedFiles(b Binary) ([]entry, error) {
	program, err := os.ReadFile(b.Path)
	if err != nil {
		return nil, err
	}
	texts, err := r.licenses.texts(b)
	if err != nil {
		return nil, err
	}
	all := []entry{{"usr/bin/sluice", programMode, program},
		{"usr/share/doc/sluice/copyright", fileMode, r.License},
		{"usr/share/doc/sluice/README.md", fileMode, r.Readme},
		{"usr/share/doc/sluice/" + licensesFile, fileMode, texts}}
	for _, name := range sortedNames(r.Pages.Manual) {
		page, err := compress(r.Pages.Manual[name])
		if err != nil {
			return nil, err
		}
		all = append(all, entry{"usr/share/man/man1/" + name + ".gz", fileMode, page})
	}
	for name, place := range map[string]string{"sluice.bash": "usr/share/bash-completion/completions/sluice",
		"_sluice": "usr/share/zsh/site-functions/_sluice", "sluice.fish": "usr/share/fish/vendor_completions.d/sluice.fish"} {
		if script, ok := r.Pages.Completions[name]; ok {
			all = append(all, entry{place, fileMode, script})
		}
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	return all, nil
}
