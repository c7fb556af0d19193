// Package buildinfo says which sluice this binary is: its version, commit and date. The commands, the providers and the
// journal ask it, so that all name the same version.
//
// A release has these values from the linker (see release/build.go). Otherwise they come from what Go recorded in the
// binary: go install records the version of the module, and go build in a clone the commit.
package buildinfo

import (
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// Set by the linker: a version such as v1.2.3, the 40 digits of the commit, and its time as RFC 3339 has it.
var linkedVersion, linkedCommit, linkedTime string

// Devel is the version of a build whose version is not known.
const Devel = "(devel)"

// Info describes a binary.
type Info struct {
	Version  string `json:"version"`            // v1.2.3, a pseudo-version of Go, or Devel
	Commit   string `json:"commit,omitempty"`   // as many digits as are known
	Time     string `json:"time,omitempty"`     // of the commit, RFC 3339
	Modified bool   `json:"modified,omitempty"` // the files were not those of the commit
	Go       string `json:"go"`
	Platform string `json:"platform"` // GOOS/GOARCH
}

// Read describes this binary.
func Read() Info {
	info, _ := debug.ReadBuildInfo()
	return read(info, Info{Version: linkedVersion, Commit: linkedCommit, Time: linkedTime})
}

// read takes each value from the linker, otherwise from the build, otherwise from the version of a module that was
// built from a commit. A commit that the build recorded has precedence, because the linker's may be that of a Makefile
// in another folder.
func read(info *debug.BuildInfo, linked Info) Info {
	b := linked
	b.Go, b.Platform = runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH
	if info == nil {
		info = &debug.BuildInfo{}
	}
	if b.Version == "" {
		b.Version = info.Main.Version
	}
	if b.Version == "" {
		b.Version = Devel
	}
	if m := pseudoVersion.FindStringSubmatch(b.Version); m != nil {
		b.fillFromPseudoVersion(m[1], m[2])
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// pseudoVersion is the version of a module at a commit without a tag (Go Modules Reference, "Pseudo-versions"). It ends
// with the time and the first twelve digits of the commit.
var pseudoVersion = regexp.MustCompile(`[-.](\d{14})-([0-9a-f]{12})(?:\+dirty)?$`)

func (b *Info) fillFromPseudoVersion(at, commit string) {
	if b.Commit == "" {
		b.Commit = commit
	}
	if t, err := time.Parse("20060102150405", at); err == nil && b.Time == "" {
		b.Time = t.UTC().Format(time.RFC3339)
	}
}

// release is a version with a tag.
var release = regexp.MustCompile(`^v\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$`)

// Release returns the version without its v if the binary is a release, otherwise "".
func (b Info) Release() string {
	if release.MatchString(b.Version) && !pseudoVersion.MatchString(b.Version) {
		return strings.TrimPrefix(b.Version, "v")
	}
	return ""
}

func (b Info) String() string {
	s := "sluice " + b.Version
	if b.Commit != "" {
		s += " commit " + b.Commit[:min(len(b.Commit), 12)]
	}
	if b.Modified {
		s += " with changes"
	}
	if b.Time != "" {
		s += " of " + b.Time
	}
	return s + " " + b.Go + " " + b.Platform
}
