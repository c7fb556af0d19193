// Command release builds the files of a release of sluice: archives, packages for Linux, a container image, archives of
// the providers, the lists of their modules and licences, and the checksums.
//
// It is a module of its own, because the libraries that write packages would otherwise be requirements of everyone who
// imports sluice (docs/adr/0036-releases.md). It imports nothing of sluice: it builds the commands, and runs sluice for
// its man pages and completions.
//
// The same commit, version and version of Go give the same bytes on every machine. Start reading at Release.WriteAll.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run is the command line: it reads the state of the repository, builds the commands and writes all files.
func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	version := flags.String("version", "", "the version, such as v1.2.3")
	root := flags.String("root", "..", "the repository")
	out := flags.String("out", "../dist", "the folder to write to; it must not exist, or be empty")
	snapshot := flags.Bool("snapshot", false, "a trial: uncommitted changes are allowed, only -platforms are built")
	only := flags.String("platforms", "", "platforms of a snapshot, such as linux/amd64,darwin/arm64")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if !*snapshot && *only != "" {
		return errors.New("a release has all platforms: -platforms needs -snapshot")
	}
	r, err := newRelease(ctx, *root, *version, *snapshot)
	if err != nil {
		return err
	}
	targets := platforms
	if *only != "" {
		if targets, err = parsePlatforms(*only); err != nil {
			return err
		}
	}
	work, err := os.MkdirTemp("", "sluice-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	b := builder{release: r, root: *root, out: work, trimPath: !*snapshot}
	if r.Binaries, err = b.buildAll(ctx, targets); err != nil {
		return err
	}
	if r.Pages, err = b.generatePages(ctx); err != nil {
		return err
	}
	return r.WriteAll(*out)
}

// Release is what the files of a release are made of.
type Release struct {
	Version  string    // v1.2.3
	Commit   string    // 40 digits
	Time     time.Time // of the commit; every file in every archive has it
	License  []byte    // of sluice
	Readme   []byte
	Binaries []Binary
	Pages    Pages
	licenses *licenseReader
}

// Number is the version without its v.
func (r *Release) Number() string { return strings.TrimPrefix(r.Version, "v") }

// versionForm is a version of Semantic Versioning with a v, without build metadata: packages write that differently.
var versionForm = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

// newRelease reads what the repository knows. A release must be what a commit has; a snapshot need not.
func newRelease(ctx context.Context, root, version string, snapshot bool) (*Release, error) {
	if !versionForm.MatchString(version) {
		return nil, fmt.Errorf("the version is %q, but must be one such as v1.2.3 or v1.2.3-rc.1", version)
	}
	changed, err := git(ctx, root, "status", "--porcelain")
	if err != nil {
		return nil, err
	}
	if changed != "" && !snapshot {
		return nil, fmt.Errorf("the repository has uncommitted changes: commit them, so that others can build the same:\n%s", changed)
	}
	r := &Release{Version: version}
	if r.Commit, err = git(ctx, root, "rev-parse", "HEAD"); err != nil {
		return nil, err
	}
	at, err := git(ctx, root, "show", "-s", "--format=%cI", "HEAD")
	if err != nil {
		return nil, err
	}
	if r.Time, err = time.Parse(time.RFC3339, at); err != nil {
		return nil, err
	}
	r.Time = r.Time.UTC()
	if r.License, err = os.ReadFile(filepath.Join(root, "LICENSE")); err != nil {
		return nil, err
	}
	if r.Readme, err = os.ReadFile(filepath.Join(root, "README.md")); err != nil {
		return nil, err
	}
	r.licenses, err = newLicenseReader(ctx)
	return r, err
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, "git", args...)
	c.Dir = dir
	out, err := output(c)
	return strings.TrimSpace(string(out)), err
}

// output runs c and returns its standard output. The error has what c wrote to standard error.
func output(c *exec.Cmd) ([]byte, error) {
	out, err := c.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(c.Args, " "), err, failed.Stderr)
	}
	return out, err
}
