package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Platform is an operating system and an architecture, in Go's words.
type Platform struct{ OS, Arch string }

func (p Platform) String() string { return p.OS + "/" + p.Arch }

// exe is the ending of programs.
func (p Platform) exe() string {
	if p.OS == "windows" {
		return ".exe"
	}
	return ""
}

// platforms are those of a release.
var platforms = []Platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"},
	{"windows", "amd64"}, {"windows", "arm64"}}

func parsePlatforms(list string) ([]Platform, error) {
	var all []Platform
	for word := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(platforms, func(p Platform) bool { return p.String() == word })
		if i < 0 {
			return nil, fmt.Errorf("there is no platform %q, only %v", word, platforms)
		}
		all = append(all, platforms[i])
	}
	return all, nil
}

// The commands of the repository that a release has, by their folder in cmd.
const (
	sluiceCommand    = "sluice"
	terraformCommand = "terraform-provider-sluice"
	pulumiCommand    = "pulumi-resource-sluice"
	pipedCommand     = "piped-plugin-sluice"
)

// Binary is a built command.
type Binary struct {
	Command  string
	Platform Platform
	Path     string
}

func (r *Release) binariesOf(command string) []Binary {
	return slices.DeleteFunc(slices.Clone(r.Binaries), func(b Binary) bool { return b.Command != command })
}

// builder builds the commands.
type builder struct {
	release  *Release
	root     string // the repository
	out      string // the folder of the binaries
	trimPath bool   // false: names of folders stay in the binaries, which then share the cache of other builds
}

// buildAll builds all commands for each platform.
func (b builder) buildAll(ctx context.Context, targets []Platform) ([]Binary, error) {
	var all []Binary
	for _, p := range targets {
		for _, command := range []string{sluiceCommand, terraformCommand, pulumiCommand, pipedCommand} {
			built, err := b.build(ctx, command, p)
			if err != nil {
				return nil, err
			}
			all = append(all, built)
		}
	}
	return all, nil
}

// build builds one command. The repository's state is not recorded by Go but given by the linker, so that a clone with
// other tags, or without any, gives the same bytes. Variables of the caller's environment that change what Go compiles
// are set.
func (b builder) build(ctx context.Context, command string, p Platform) (Binary, error) {
	const info = "github.com/sluice-ecs/sluice/internal/buildinfo."
	built := Binary{Command: command, Platform: p,
		Path: filepath.Join(b.out, p.OS+"_"+p.Arch, command+p.exe())}
	path, err := filepath.Abs(built.Path)
	if err != nil {
		return built, err
	}
	// Without the traces of gRPC, which call methods by name, the linker drops unused methods: a provider has 12 MB less.
	c := exec.CommandContext(ctx, "go", "build", fmt.Sprintf("-trimpath=%t", b.trimPath), "-buildvcs=false",
		"-tags=grpcnotrace",
		"-ldflags=-s -w -buildid= -X "+info+"linkedVersion="+b.release.Version+" -X "+info+"linkedCommit="+
			b.release.Commit+" -X "+info+"linkedTime="+b.release.Time.Format(time.RFC3339),
		"-o", path, "./cmd/"+command)
	c.Dir = b.root
	c.Env = append(os.Environ(), "GOOS="+p.OS, "GOARCH="+p.Arch, "CGO_ENABLED=0", "GOFLAGS=", "GOEXPERIMENT=",
		"GOAMD64=v1", "GOARM64=v8.0", "GOWORK=off", "GOFIPS140=off")
	_, err = output(c)
	return built, err
}

// Pages are the files that sluice writes about itself, by their name.
type Pages struct {
	Manual      map[string][]byte // sluice-deploy.1
	Completions map[string][]byte // of shells: sluice.bash, _sluice, sluice.fish, sluice.ps1
}

// generatePages runs sluice for this machine. The pages are the same for all platforms.
func (b builder) generatePages(ctx context.Context) (Pages, error) {
	host := Platform{runtime.GOOS, runtime.GOARCH}
	program, err := b.build(ctx, sluiceCommand, host)
	if err != nil {
		return Pages{}, err
	}
	p := Pages{Manual: map[string][]byte{}, Completions: map[string][]byte{}}
	for shell, name := range map[string]string{"bash": "sluice.bash", "zsh": "_sluice", "fish": "sluice.fish",
		"powershell": "sluice.ps1"} {
		if p.Completions[name], err = output(exec.CommandContext(ctx, program.Path, "completion", shell)); err != nil {
			return Pages{}, err
		}
	}
	dir := filepath.Join(b.out, "man")
	if _, err := output(exec.CommandContext(ctx, program.Path, "man", dir)); err != nil {
		return Pages{}, err
	}
	pages, err := os.ReadDir(dir)
	if err != nil {
		return Pages{}, err
	}
	for _, page := range pages {
		if p.Manual[page.Name()], err = os.ReadFile(filepath.Join(dir, page.Name())); err != nil {
			return Pages{}, err
		}
	}
	return p, nil
}
