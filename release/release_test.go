package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

var commitTime = time.Date(2026, 3, 4, 5, 6, 8, 0, time.UTC)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "release-test-")
	if err != nil {
		panic(err)
	}
	testDir = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// testDir is a folder for all tests.
var testDir string

// smallProgram is built once for all tests.
var smallProgram = sync.OnceValues(func() (string, error) {
	program := filepath.Join(testDir, "small")
	_, err := output(exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", program, "./testdata/small"))
	return program, err
})

// smallFiles is where all files of small are, for tests that only read them.
func smallFiles(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(testDir, "files")
	if _, err := os.Stat(dir); err != nil {
		must(t, small(t).WriteAll(dir))
	}
	return dir
}

// small is a release of a small program in the place of all commands.
func small(t *testing.T) *Release {
	t.Helper()
	program, err := smallProgram()
	must(t, err)
	licenses, err := newLicenseReader(context.Background())
	must(t, err)
	r := &Release{Version: "v1.2.3", Commit: strings.Repeat("0123456789", 4), Time: commitTime,
		License: []byte("the licence\n"), Readme: []byte("read me\n"), licenses: licenses,
		Pages: Pages{Manual: map[string][]byte{"sluice.1": []byte(".TH SLUICE\n"), "sluice-plan.1": []byte(".TH PLAN\n")},
			Completions: map[string][]byte{"sluice.bash": []byte("bash\n"), "_sluice": []byte("zsh\n"),
				"sluice.fish": []byte("fish\n"), "sluice.ps1": []byte("ps1\n")}}}
	for _, p := range platforms {
		for _, command := range []string{sluiceCommand, terraformCommand, pulumiCommand, pipedCommand} {
			r.Binaries = append(r.Binaries, Binary{command, p, program})
		}
	}
	return r
}

// Everything is the same the second time, in another second and with other settings of the machine.
func TestTwiceTheSameBytes(t *testing.T) {
	r := small(t)
	began := time.Now().Unix()
	first := readAll(t, smallFiles(t))
	t.Setenv("TZ", "Asia/Tokyo")
	t.Setenv("HOSTNAME", "elsewhere")
	t.Setenv("SOURCE_DATE_EPOCH", "1")
	for {
		dir := t.TempDir()
		must(t, r.WriteAll(dir))
		second := readAll(t, dir)
		for name, data := range first {
			if !bytes.Equal(second[name], data) {
				t.Errorf("%s differs when it is built again", name)
			}
		}
		if len(second) != len(first) {
			t.Errorf("%d files, then %d", len(first), len(second))
		}
		if time.Now().Unix() > began || t.Failed() {
			return
		}
	}
}

func TestFilesOfARelease(t *testing.T) {
	dir := smallFiles(t)
	got := sortedNames(readAll(t, dir))
	var want []string
	add := func(names ...string) { want = append(want, names...) }
	add("checksums.txt", "sluice.json", "sluice.rb", "sluice_1.2.3_image.tar", "sluice_1.2.3_amd64.deb",
		"sluice_1.2.3_arm64.deb", "sluice-1.2.3-1.x86_64.rpm", "sluice-1.2.3-1.aarch64.rpm", "sluice_1.2.3_x86_64.apk",
		"sluice_1.2.3_aarch64.apk", "terraform-provider-sluice_1.2.3_SHA256SUMS",
		"terraform-provider-sluice_1.2.3_manifest.json", "terraform-provider-sluice_1.2.3_mirror.tar")
	for _, p := range platforms {
		ending := ".tar.gz"
		if p.OS == "windows" {
			ending = ".zip"
		}
		for _, archive := range []string{fmt.Sprintf("sluice_1.2.3_%s_%s%s", p.OS, p.Arch, ending),
			fmt.Sprintf("terraform-provider-sluice_1.2.3_%s_%s.zip", p.OS, p.Arch),
			fmt.Sprintf("pulumi-resource-sluice-v1.2.3-%s-%s.tar.gz", p.OS, p.Arch)} {
			add(archive, archive+".cdx.json")
		}
		plugin := fmt.Sprintf("piped-plugin-sluice_1.2.3_%s_%s%s", p.OS, p.Arch, p.exe())
		add(plugin, plugin+".cdx.json", plugin+".licenses.txt")
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the files are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// piped fetches the program by its URL: it is a file of its own, with its checksum, and beside it the licences of sluice
// and of all modules in it.
func TestPipedPlugin(t *testing.T) {
	dir, plugin := smallFiles(t), "piped-plugin-sluice_1.2.3_linux_arm64"
	all := readAll(t, dir)
	program, err := smallProgram()
	must(t, err)
	want, err := os.ReadFile(program)
	must(t, err)
	if !bytes.Equal(all[plugin], want) {
		t.Errorf("%s is not the program", plugin)
	}
	if line := fmt.Sprintf("%x  %s\n", sha256.Sum256(want), plugin); !strings.Contains(string(all["checksums.txt"]), line) {
		t.Errorf("the checksums have no line %q", line)
	}
	for _, part := range []string{"the licence\n", "piped-plugin-sluice contains code of these modules", "\nstd "} {
		if text := string(all[plugin+".licenses.txt"]); !strings.Contains(text, part) {
			t.Errorf("the licences lack %q:\n%.300s", part, text)
		}
	}
}

// GitHub keeps these characters in the names of files, and replaces others: checksums.txt would name other files.
func TestNamesOfAPrerelease(t *testing.T) {
	r, dir := small(t), t.TempDir()
	r.Version = "v1.2.3-rc.1"
	must(t, r.writePackages(&dist{dir: dir}))
	want := []string{"sluice-1.2.3-rc.1-1.aarch64.rpm", "sluice-1.2.3-rc.1-1.x86_64.rpm", "sluice_1.2.3-rc.1_amd64.deb",
		"sluice_1.2.3-rc.1_arm64.deb", "sluice_1.2.3_rc.1_aarch64.apk", "sluice_1.2.3_rc.1_x86_64.apk"}
	if got := sortedNames(readAll(t, dir)); !slices.Equal(got, want) {
		t.Errorf("the packages are %v", got)
	}
}

// checksums.txt has every other file, in the form that sha256sum -c reads.
func TestChecksums(t *testing.T) {
	all := readAll(t, smallFiles(t))
	lines := strings.Split(strings.TrimSuffix(string(all["checksums.txt"]), "\n"), "\n")
	if len(lines) != len(all)-1 {
		t.Errorf("%d lines for %d files", len(lines), len(all)-1)
	}
	for _, line := range lines {
		sum, name, _ := strings.Cut(line, "  ")
		if data, ok := all[name]; !ok || fmt.Sprintf("%x", sha256.Sum256(data)) != sum {
			t.Errorf("not the checksum of a file: %s", line)
		}
	}
}

func TestArchivesNameNoMachine(t *testing.T) {
	dir := smallFiles(t)
	archive, err := os.ReadFile(filepath.Join(dir, "sluice_1.2.3_linux_amd64.tar.gz"))
	must(t, err)
	got := ""
	for h, data := range tarFiles(t, gunzipped(t, archive)) {
		if !h.ModTime.Equal(commitTime) || h.Uname != "" || h.Gname != "" || h.Uid != 0 || h.Gid != 0 {
			t.Errorf("%s has the time %s and the owner %q %d", h.Name, h.ModTime, h.Uname, h.Uid)
		}
		got += fmt.Sprintf("%o %s\n", h.Mode, h.Name)
		if h.Name == "README.md" && string(data) != "read me\n" {
			t.Errorf("%s is %q", h.Name, data)
		}
	}
	want := "644 LICENSE\n644 README.md\n644 THIRD_PARTY_LICENSES.txt\n644 completions/_sluice\n" +
		"644 completions/sluice.bash\n644 completions/sluice.fish\n644 completions/sluice.ps1\n" +
		"644 man/man1/sluice-plan.1\n644 man/man1/sluice.1\n755 sluice\n"
	if got != want {
		t.Errorf("the archive has\n%s\nwant\n%s", got, want)
	}
	z, err := zip.OpenReader(filepath.Join(dir, "sluice_1.2.3_windows_arm64.zip"))
	must(t, err)
	defer z.Close()
	last := z.File[len(z.File)-1]
	if last.Name != "sluice.exe" || !last.Modified.Equal(commitTime) {
		t.Errorf("the last file of the zip is %s of %s", last.Name, last.Modified)
	}
}

func TestLicencesOfLinkedModules(t *testing.T) {
	r := small(t)
	texts, err := r.licenses.texts(r.Binaries[0])
	must(t, err)
	for _, want := range []string{"golang.org/x/mod v", ": BSD-3-Clause\n", "\nstd 1.", "Redistribution and use in"} {
		if !strings.Contains(string(texts), want) {
			t.Errorf("%q is not in\n%s", want, texts)
		}
	}
}

func TestModuleWithoutALicenceIsRefused(t *testing.T) {
	r := small(t).licenses
	r.cache = t.TempDir()
	dir := filepath.Join(r.cache, "example.com", "!secret@v1.0.0")
	must(t, os.MkdirAll(dir, 0o755))
	secret := &debug.Module{Path: "example.com/Secret", Version: "v1.0.0"}
	_, err := r.licenceOf(secret)
	if err == nil || !strings.Contains(err.Error(), "licence of example.com/Secret v1.0.0: there is no licence file") {
		t.Errorf("got %v", err)
	}
	must(t, os.WriteFile(filepath.Join(dir, "LICENSE"), []byte("All rights reserved. Do not copy.\n"), 0o644))
	_, err = r.licenceOf(secret)
	if err == nil || !strings.Contains(err.Error(), "is none that is known") {
		t.Errorf("got %v", err)
	}
}

func TestBillOfMaterials(t *testing.T) {
	r := small(t)
	all := readAll(t, smallFiles(t))
	name := "sluice_1.2.3_windows_amd64.zip"
	var bom cdx.BOM
	must(t, cdx.NewBOMDecoder(bytes.NewReader(all[name+".cdx.json"]), cdx.BOMFileFormatJSON).Decode(&bom))
	main := bom.Metadata.Component
	if sum := fmt.Sprintf("%x", sha256.Sum256(all[name])); (*main.Hashes)[0].Value != sum {
		t.Errorf("the list is about another archive: %+v", main.Hashes)
	}
	if main.PackageURL != "pkg:golang/github.com/sluice-ecs/sluice@v1.2.3#cmd/sluice" ||
		bom.Metadata.Timestamp != "2026-03-04T05:06:08Z" {
		t.Errorf("got %s of %s", main.PackageURL, bom.Metadata.Timestamp)
	}
	modules, err := modulesOf(r.Binaries[0])
	must(t, err)
	if len(*bom.Components) != len(modules) || len(modules) != 2 {
		t.Fatalf("%d components for %d modules", len(*bom.Components), len(modules))
	}
	mod := (*bom.Components)[0]
	if !strings.HasPrefix(mod.PackageURL, "pkg:golang/golang.org/x/mod@v0.") ||
		(*mod.Licenses)[0].License.ID != "BSD-3-Clause" || !strings.HasPrefix((*mod.Properties)[0].Value, "h1:") {
		t.Errorf("got %+v", mod)
	}
}

func TestPackageURL(t *testing.T) {
	got := packageURL("github.com/ProtonMail/msgpack", "v4.0.4+incompatible")
	if want := "pkg:golang/github.com/protonmail/msgpack@v4.0.4%2Bincompatible"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The image is an OCI layout with one image for each architecture of Linux.
func TestImage(t *testing.T) {
	r := small(t)
	dir := unpacked(t, filepath.Join(smallFiles(t), r.imageName()))
	outer, err := layout.ImageIndexFromPath(dir)
	must(t, err)
	top, err := outer.IndexManifest()
	must(t, err)
	index, err := outer.ImageIndex(top.Manifests[0].Digest)
	must(t, err)
	manifest, err := index.IndexManifest()
	must(t, err)
	var got []string
	for _, m := range manifest.Manifests {
		got = append(got, m.Platform.String())
		image, err := index.Image(m.Digest)
		must(t, err)
		checkImage(t, image, m.Platform.Architecture)
	}
	if !slices.Equal(got, []string{"linux/amd64", "linux/arm64"}) {
		t.Errorf("the platforms are %v", got)
	}
}

func checkImage(t *testing.T, image v1.Image, arch string) {
	t.Helper()
	c, err := image.ConfigFile()
	must(t, err)
	if c.Architecture != arch || c.Config.User != "65532:65532" || !c.Created.Equal(commitTime) ||
		c.Config.Labels["org.opencontainers.image.version"] != "1.2.3" {
		t.Errorf("the configuration is %+v", c)
	}
	layers, err := image.Layers()
	must(t, err)
	if len(layers) != 1 {
		t.Fatalf("%d layers", len(layers))
	}
	content, err := layers[0].Uncompressed()
	must(t, err)
	data, err := io.ReadAll(content)
	must(t, err)
	var names []string
	for h, data := range tarFiles(t, data) {
		names = append(names, h.Name)
		if h.Name == "etc/ssl/certs/ca-certificates.crt" && countCertificates(t, data) < 100 {
			t.Errorf("only %d certificates", countCertificates(t, data))
		}
	}
	// Docker's engine lets only root into a folder that a layer leaves out.
	want := []string{"etc/", "etc/group", "etc/passwd", "etc/ssl/", "etc/ssl/certs/", "etc/ssl/certs/ca-certificates.crt",
		"home/", "home/sluice/", "tmp/", "usr/", "usr/bin/", "usr/bin/sluice", "usr/share/", "usr/share/doc/",
		"usr/share/doc/sluice/", "usr/share/doc/sluice/README.md", "usr/share/doc/sluice/THIRD_PARTY_LICENSES.txt",
		"usr/share/doc/sluice/copyright", "work/"}
	if !slices.Equal(names, want) {
		t.Errorf("the image has %v, want %v", names, want)
	}
}

func countCertificates(t *testing.T, data []byte) (n int) {
	t.Helper()
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// The archives have the shape of the registry of Terraform, and the mirror that of terraform providers mirror.
func TestTerraformFiles(t *testing.T) {
	all := readAll(t, smallFiles(t))
	name := "terraform-provider-sluice_1.2.3_windows_amd64.zip"
	z, err := zip.NewReader(bytes.NewReader(all[name]), int64(len(all[name])))
	must(t, err)
	if last := z.File[len(z.File)-1]; last.Name != "terraform-provider-sluice_v1.2.3.exe" {
		t.Errorf("the program is %s", last.Name)
	}
	sums := string(all["terraform-provider-sluice_1.2.3_SHA256SUMS"])
	if strings.Count(sums, "\n") != 7 || !strings.Contains(sums, "  terraform-provider-sluice_1.2.3_manifest.json") {
		t.Errorf("the sums are\n%s", sums)
	}
	for h, data := range tarFiles(t, all["terraform-provider-sluice_1.2.3_mirror.tar"]) {
		short, _ := strings.CutPrefix(h.Name, mirrorPath+"/")
		switch {
		case short == "1.2.3.json":
			var archives struct {
				Archives map[string]struct {
					URL    string
					Hashes []string
				}
			}
			must(t, json.Unmarshal(data, &archives))
			got := archives.Archives["windows_amd64"]
			if want := fmt.Sprintf("zh:%x", sha256.Sum256(all[name])); got.URL != name || got.Hashes[0] != want {
				t.Errorf("got %+v, want %s", got, want)
			}
		case short == name && !bytes.Equal(data, all[name]):
			t.Errorf("%s in the mirror is another file", name)
		}
	}
}

func TestManifestsHaveTheChecksums(t *testing.T) {
	all := readAll(t, smallFiles(t))
	sum := func(name string) string { return fmt.Sprintf("%x", sha256.Sum256(all[name])) }
	formula, arm := string(all["sluice.rb"]), "sluice_1.2.3_darwin_arm64.tar.gz"
	if want := "on_macos do\n    on_arm do\n      url \"https://github.com/sluice-ecs/sluice/releases/download/v1.2.3/" +
		arm + "\"\n      sha256 \"" + sum(arm) + "\"\n    end\n"; !strings.Contains(formula, want) {
		t.Errorf("%s\nis not in\n%s", want, formula)
	}
	var scoop struct {
		Architecture map[string]struct{ URL, Hash string }
		Autoupdate   struct {
			Architecture map[string]struct{ URL string }
		}
	}
	must(t, json.Unmarshal(all["sluice.json"], &scoop))
	if got := scoop.Architecture["64bit"].Hash; got != sum("sluice_1.2.3_windows_amd64.zip") {
		t.Errorf("the hash is %s", got)
	}
	if got := scoop.Autoupdate.Architecture["arm64"].URL; got !=
		"https://github.com/sluice-ecs/sluice/releases/download/v$version/sluice_$version_windows_arm64.zip" {
		t.Errorf("the update is at %s", got)
	}
}

// dpkg reads the package, and everything is where it belongs.
func TestDebianPackage(t *testing.T) {
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("dpkg-deb is not installed")
	}
	name := filepath.Join(smallFiles(t), "sluice_1.2.3_amd64.deb")
	list, err := output(exec.Command("dpkg-deb", "--contents", name))
	must(t, err)
	for _, want := range []string{"-rwxr-xr-x root/root", " ./usr/bin/sluice\n",
		" ./usr/share/man/man1/sluice-plan.1.gz\n",
		" ./usr/share/zsh/vendor-completions/_sluice\n", " ./usr/share/bash-completion/completions/sluice\n",
		" ./usr/share/doc/sluice/copyright\n"} {
		if !strings.Contains(string(list), want) {
			t.Errorf("%q is not in\n%s", want, list)
		}
	}
	info, err := output(exec.Command("dpkg-deb", "--field", name, "Package", "Version", "Architecture", "License"))
	must(t, err)
	if want := "Package: sluice\nVersion: 1.2.3\nArchitecture: amd64\n"; !strings.HasPrefix(string(info), want) {
		t.Errorf("got %s", info)
	}
}

func TestVersions(t *testing.T) {
	for version, ok := range map[string]bool{"v1.2.3": true, "v0.1.0-rc.1": true, "1.2.3": false, "v1.2": false,
		"v01.2.3": false, "v1.2.3+meta": false, "": false, "v1.2.3 -X main.a=b": false} {
		if versionForm.MatchString(version) != ok {
			t.Errorf("%q: want %t", version, ok)
		}
	}
}

// A release is what a commit has. A trial need not be.
func TestUncommittedChangesAreRefused(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"LICENSE": "l", "README.md": "r"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.com",
		"commit", "-q", "-m", "first"}} {
		_, err := git(context.Background(), dir, args...)
		must(t, err)
	}
	if _, err := newRelease(context.Background(), dir, "v1.2.3", false); err != nil {
		t.Errorf("a clean repository: %v", err)
	}
	must(t, os.WriteFile(filepath.Join(dir, "new.go"), nil, 0o644))
	if _, err := newRelease(context.Background(), dir, "v1.2.3", false); err == nil ||
		!strings.Contains(err.Error(), "uncommitted changes") || !strings.Contains(err.Error(), "new.go") {
		t.Errorf("got %v", err)
	}
	if _, err := newRelease(context.Background(), dir, "v1.2.3", true); err != nil {
		t.Errorf("a snapshot: %v", err)
	}
}

func TestEarlierFilesAreNotMixed(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "old.deb"), nil, 0o644))
	if err := (&Release{}).WriteAll(dir); err == nil || !strings.Contains(err.Error(), "an earlier build") {
		t.Errorf("got %v", err)
	}
}

func readAll(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files, err := os.ReadDir(dir)
	must(t, err)
	all := map[string][]byte{}
	for _, f := range files {
		all[f.Name()], err = os.ReadFile(filepath.Join(dir, f.Name()))
		must(t, err)
	}
	return all
}

func gunzipped(t *testing.T, data []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(data))
	must(t, err)
	out, err := io.ReadAll(r)
	must(t, err)
	return out
}

// tarFiles yields the entries of an archive.
func tarFiles(t *testing.T, data []byte) func(yield func(*tar.Header, []byte) bool) {
	return func(yield func(*tar.Header, []byte) bool) {
		t.Helper()
		r := tar.NewReader(bytes.NewReader(data))
		for {
			h, err := r.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			must(t, err)
			content, err := io.ReadAll(r)
			must(t, err)
			if !yield(h, content) {
				return
			}
		}
	}
}

// unpacked unpacks the regular files of a tar archive into a new folder.
func unpacked(t *testing.T, archive string) string {
	t.Helper()
	data, err := os.ReadFile(archive)
	must(t, err)
	dir := t.TempDir()
	for h, content := range tarFiles(t, data) {
		if h.Typeflag != tar.TypeReg {
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, content, os.FileMode(h.Mode)))
	}
	return dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// unzipped unpacks an archive into a new folder.
func unzipped(t *testing.T, archive string) string {
	t.Helper()
	z, err := zip.OpenReader(archive)
	must(t, err)
	defer z.Close()
	dir := t.TempDir()
	for _, f := range z.File {
		r, err := f.Open()
		must(t, err)
		data, err := io.ReadAll(r)
		must(t, err)
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, data, f.Mode()))
	}
	return dir
}
