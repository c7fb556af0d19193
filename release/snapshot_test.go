package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

var snapshot = flag.Bool("snapshot", false, "build a trial release for this machine and install it")

const snapshotVersion = "v0.0.0-snapshot"

// The largest sizes of the programs, in bytes.
const (
	maxSluice   = 80_000_000
	maxProvider = 25_000_000
)

// TestSnapshot builds the commands for this machine and all files of a release from them, and tries what this machine
// can try: the archives, the package of Debian where dpkg is, the image where an engine of Docker is.
func TestSnapshot(t *testing.T) {
	if !*snapshot {
		t.Skip("it builds all commands: make release-check runs it")
	}
	host := Platform{runtime.GOOS, runtime.GOARCH}
	dir := filepath.Join(t.TempDir(), "dist")
	must(t, run(context.Background(), []string{"-version", snapshotVersion, "-snapshot", "-platforms", host.String(),
		"-out", dir}))
	r := &Release{Version: snapshotVersion}
	t.Run("archive", func(t *testing.T) { trySluiceArchive(t, filepath.Join(dir, r.archiveName(host))) })
	t.Run("providers", func(t *testing.T) { tryProviders(t, dir, host) })
	t.Run("modules", func(t *testing.T) { tryModules(t, filepath.Join(dir, r.archiveName(host))+".cdx.json") })
	t.Run("debian", func(t *testing.T) { tryDebian(t, dir) })
	t.Run("pages", func(t *testing.T) { playInstallPage(t, dir, host) })
	t.Run("image", func(t *testing.T) { tryImage(t, filepath.Join(dir, r.imageName())) })
}

func trySluiceArchive(t *testing.T, archive string) {
	root := unpackedArchive(t, archive)
	program := filepath.Join(root, "sluice"+Platform{OS: runtime.GOOS}.exe())
	isSnapshot(t, program)
	checkSize(t, program, maxSluice)
	for _, want := range []string{"man/man1/sluice-deploy.1", "completions/sluice.bash", "completions/_sluice",
		"completions/sluice.fish", "completions/sluice.ps1", licensesFile, "LICENSE", "README.md"} {
		if info, err := os.Stat(filepath.Join(root, want)); err != nil || info.Size() < 200 {
			t.Errorf("%s: %v, %v", want, info, err)
		}
	}
}

func unpackedArchive(t *testing.T, archive string) string {
	t.Helper()
	data, err := os.ReadFile(archive)
	must(t, err)
	plain := filepath.Join(t.TempDir(), "plain.tar")
	must(t, os.WriteFile(plain, gunzipped(t, data), 0o600))
	return unpacked(t, plain)
}

// isSnapshot fails if the program does not say that it is the snapshot of this commit for this machine.
func isSnapshot(t *testing.T, program string, args ...string) {
	t.Helper()
	commit, err := git(context.Background(), "..", "rev-parse", "HEAD")
	must(t, err)
	out, err := output(exec.Command(program, append(args, "version", "--output", "json")...))
	must(t, err)
	var got struct{ Version, Commit, Time, Platform string }
	must(t, json.Unmarshal(out, &got))
	if got.Version != snapshotVersion || got.Commit != commit || got.Time == "" ||
		got.Platform != runtime.GOOS+"/"+runtime.GOARCH {
		t.Errorf("it says %s", out)
	}
}

func checkSize(t *testing.T, file string, most int64) {
	t.Helper()
	info, err := os.Stat(file)
	must(t, err)
	if info.Size() > most {
		t.Errorf("%s has %d bytes, at most %d are allowed", filepath.Base(file), info.Size(), most)
	}
}

func tryProviders(t *testing.T, dir string, host Platform) {
	root := unpackedArchive(t, filepath.Join(dir, fmt.Sprintf("%s-%s-%s-%s.tar.gz", pulumiCommand, snapshotVersion,
		host.OS, host.Arch)))
	checkSize(t, filepath.Join(root, pulumiCommand+host.exe()), maxProvider)

	// terraform finds the provider in the unpacked mirror
	mirror := unpacked(t, filepath.Join(dir, terraformCommand+"_0.0.0-snapshot_mirror.tar"))
	archive := filepath.Join(mirror, filepath.FromSlash(mirrorPath), archiveOfProvider(host))
	provider := filepath.Join(unzipped(t, archive), terraformCommand+"_"+snapshotVersion+host.exe())
	checkSize(t, provider, maxProvider)
	out, err := output(exec.Command(provider, "-version"))
	must(t, err)
	if string(out) != terraformCommand+" "+snapshotVersion+"\n" {
		t.Errorf("the provider says %s", out)
	}
}

func tryModules(t *testing.T, list string) {
	data, err := os.ReadFile(list)
	must(t, err)
	var bom cdx.BOM
	must(t, cdx.NewBOMDecoder(bytes.NewReader(data), cdx.BOMFileFormatJSON).Decode(&bom))
	names := ""
	for _, c := range *bom.Components {
		names += c.Name + "\n"
		for _, l := range *c.Licenses {
			if l.License.ID == "" {
				t.Errorf("%s has no licence", c.Name)
			}
		}
	}
	if !strings.Contains(names, "github.com/spf13/cobra\n") || strings.Contains(names, "goreleaser") {
		t.Errorf("sluice has the modules\n%s", names)
	}
}

// tryDebian installs the package into a folder with a database of dpkg. Only root may do that; others unpack it.
func tryDebian(t *testing.T, dir string) {
	packages, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	must(t, err)
	if _, err := exec.LookPath("dpkg"); err != nil || len(packages) == 0 {
		t.Skip("dpkg is not installed: the package is not tried")
	}
	root := t.TempDir()
	c := exec.Command("dpkg-deb", "--extract", packages[0], root)
	if os.Getuid() == 0 {
		must(t, os.MkdirAll(filepath.Join(root, "var/lib/dpkg/info"), 0o755))
		must(t, os.MkdirAll(filepath.Join(root, "var/lib/dpkg/updates"), 0o755))
		must(t, os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644))
		c = exec.Command("dpkg", "--root="+root, "--log=/dev/null", "--install", packages[0])
	}
	if _, err := output(c); err != nil {
		t.Fatal(err)
	}
	isSnapshot(t, filepath.Join(root, "usr/bin/sluice"))
}

// tryImage runs the image of this architecture without a network, with a file system that is read only.
func tryImage(t *testing.T, file string) {
	if _, err := output(exec.Command("docker", "info")); err != nil {
		t.Skip("no engine of Docker runs here: the image is not tried")
	}
	image, err := imageFor(unpacked(t, file), runtime.GOARCH)
	must(t, err)
	tag, err := name.NewTag("sluice-snapshot:test")
	must(t, err)
	archive := filepath.Join(t.TempDir(), "docker.tar")
	must(t, tarball.WriteToFile(archive, tag, image))
	_, err = output(exec.Command("docker", "load", "--input", archive))
	must(t, err)
	t.Cleanup(func() { _, _ = output(exec.Command("docker", "image", "rm", "--force", tag.String())) })
	isSnapshot(t, "docker", "run", "--rm", "--network=none", "--read-only", tag.String())
}

// playedBlock is a block of shell commands that a page marks as played.
var playedBlock = regexp.MustCompile("(?s)<!-- played -->\n```sh\n(.*?)```")

// playInstallPage runs the marked blocks of docs/install.md with this snapshot. In the place of curl is a script that
// takes files from the folder of the snapshot.
func playInstallPage(t *testing.T, dir string, host Platform) {
	if host.OS != "linux" {
		t.Skip("the commands of the page are those of Linux")
	}
	page, err := os.ReadFile("../docs/install.md")
	must(t, err)
	blocks := playedBlock.FindAllSubmatch(page, -1)
	if len(blocks) < 2 {
		t.Fatalf("%d blocks are marked as played", len(blocks))
	}
	work := t.TempDir()
	bin, home := filepath.Join(work, "bin"), filepath.Join(work, "home")
	must(t, os.MkdirAll(bin, 0o755))
	must(t, os.MkdirAll(home, 0o755))
	curl := "#!/bin/sh\nset -e\nfor word; do case $word in https://*) cp \"$DIST/${word##*/}\" .; esac; done\n"
	must(t, os.WriteFile(filepath.Join(bin, "curl"), []byte(curl), 0o755))
	mirror := terraformCommand + "_0.0.0-snapshot_mirror.tar" // a reader has this file already
	must(t, os.Symlink(filepath.Join(dir, mirror), filepath.Join(work, mirror)))
	said := ""
	for _, block := range blocks {
		script := strings.NewReplacer("0.1.0", strings.TrimPrefix(snapshotVersion, "v"), "linux_amd64",
			host.OS+"_"+host.Arch).Replace(string(block[1]))
		c := exec.Command("bash", "-euo", "pipefail", "-c", script)
		c.Dir = work
		c.Env = append(os.Environ(), "HOME="+home, "DIST="+dir, "PATH="+bin+":"+os.Getenv("PATH"))
		out, err := output(c)
		must(t, err)
		said += string(out)
	}
	for _, want := range []string{"sluice " + snapshotVersion + " commit ", archiveOfProvider(host) + "\n"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in\n%s", want, said)
		}
	}
}

func archiveOfProvider(host Platform) string {
	return fmt.Sprintf("%s_0.0.0-snapshot_%s_%s.zip", terraformCommand, host.OS, host.Arch)
}

func imageFor(dir, arch string) (v1.Image, error) {
	outer, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, err
	}
	top, err := outer.IndexManifest()
	if err != nil {
		return nil, err
	}
	index, err := outer.ImageIndex(top.Manifests[0].Digest)
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	for _, m := range manifest.Manifests {
		if m.Platform.Architecture == arch {
			return index.Image(m.Digest)
		}
	}
	return nil, fmt.Errorf("no image for %s", arch)
}
