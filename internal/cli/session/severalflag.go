package session

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
)

// PatternHelp describes patterns of folders.
const PatternHelp = `A quoted pattern such
as 'services/*' is expanded to its folders, also on Windows.`

// SeveralHelp describes how a command reads several applications.
const SeveralHelp = `Several applications are read concurrently. The output of each is printed below its
folder, in the given order, and a table at the end lists the results. In JSON, each
document names its folder. The exit code is the worst of theirs. ` + PatternHelp

// SeveralFlag names the applications of a command that takes several.
type SeveralFlag struct {
	ApplicationFlag
	since string // --changed-since
}

// Named are the applications that a command line names.
type Named struct {
	Paths   []string // folders, files, IDs of deployments or services; without arguments "."
	IsGiven bool     // the command line names them
	// AreSeveral is true if the output names each: of several arguments, and of a pattern, which may fit one folder.
	AreSeveral bool
}

// Resolve returns the applications that the command line names. It expands patterns, and refuses an application that is
// named twice.
func (f *SeveralFlag) Resolve(s *Session, c *cobra.Command, args []string) (Named, error) {
	var given []string
	for _, arg := range args {
		all, err := s.Env.Disk.expandPattern(c, arg)
		if err != nil {
			return Named{}, err
		}
		given = append(given, all...)
	}
	path, isGiven, err := f.Path(c, given)
	if err != nil {
		return Named{}, err
	}
	n := Named{Paths: given, IsGiven: isGiven, AreSeveral: len(given) > 1 || !slices.Equal(given, args)}
	if len(given) == 0 {
		n.Paths = []string{path}
	}
	if err := s.Env.Disk.refuseDuplicates(c, n.Paths); err != nil || f.since == "" {
		return n, err
	}
	if n.Paths, err = keepChanged(s, c, n.Paths, f.since); err == nil && len(n.Paths) == 0 {
		s.PrintResult("no application has files that changed since " + f.since)
		err = ExitStatus(0)
	}
	return n, err
}

// RunNamed returns the RunE of a command on the applications that the command line names.
func (f *SeveralFlag) RunNamed(s *Session, run func(*cobra.Command, Named) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		n, err := f.Resolve(s, c, args)
		if err != nil {
			return err
		}
		return run(c, n)
	}
}

// refuseDuplicates returns an error if an application is named twice, which is a mistake.
func (d Disk) refuseDuplicates(c *cobra.Command, paths []string) error {
	seen := map[string]bool{}
	for _, path := range paths {
		abs, err := d.absolute(path)
		if err != nil {
			return &sluice.Error{Op: "find the working directory", Err: err}
		}
		if abs = filepath.Clean(abs); seen[abs] {
			return &sluice.Error{Op: c.CommandPath(), Resource: path, Err: errors.New("the application is named twice"),
				Next: "name each application once"}
		}
		seen[abs] = true
	}
	return nil
}

// expandPattern returns the folders that a pattern such as services/* fits, sorted. A shell expands a pattern that is not
// quoted itself, except on Windows. An argument that is no pattern is returned as it is.
func (d Disk) expandPattern(c *cobra.Command, arg string) ([]string, error) {
	if !strings.ContainsAny(arg, "*?[") || d.Exists(arg) {
		return []string{arg}, nil
	}
	refuse := func(err error, next string) ([]string, error) {
		return nil, &sluice.Error{Op: c.CommandPath(), Resource: arg, Err: err, Next: next}
	}
	slash := filepath.ToSlash(arg)
	first := strings.IndexAny(slash, "*?[")
	parent, pattern := slash[:strings.LastIndex(slash[:first], "/")+1], slash[strings.LastIndex(slash[:first], "/")+1:]
	abs, err := d.absolute(filepath.FromSlash(parent))
	if err != nil {
		return refuse(err, "")
	}
	files := d.FS(abs)
	found, err := fs.Glob(files, strings.TrimSuffix(pattern, "/"))
	if err != nil {
		return refuse(fmt.Errorf("the pattern is not valid: %w", err), "write it as in services/*, or name the folders")
	}
	var all []string
	for _, name := range found {
		if info, err := fs.Stat(files, name); err == nil && info.IsDir() && !strings.HasPrefix(filepath.Base(name), ".") {
			all = append(all, parent+name)
		}
	}
	if len(all) == 0 {
		return refuse(errors.New("no folder fits the pattern"), "name folders of applications, such as services/*")
	}
	slices.Sort(all)
	return all, nil
}
