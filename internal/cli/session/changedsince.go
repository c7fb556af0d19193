package session

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	slashpath "path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
)

// Register adds the flags that name applications.
func (f *SeveralFlag) Register(c *cobra.Command) {
	f.ApplicationFlag.Register(c)
	c.Flags().StringVar(&f.since, "changed-since", "",
		"only applications with files changed since this branch left git's `revision`")
}

// keepChanged returns the paths with files that differ from the revision of --changed-since: committed, changed or new.
func keepChanged(s *Session, c *cobra.Command, paths []string, since string) (kept []string, err error) {
	refuse := func(err error, next string) ([]string, error) {
		return nil, &sluice.Error{Op: c.CommandPath() + " --changed-since", Resource: since, Err: err, Next: next}
	}
	if strings.HasPrefix(since, "-") {
		return refuse(errors.New("it is no revision"), "give a revision of git, such as origin/main")
	}
	if s.Env.RunGit == nil {
		return refuse(errors.New("git cannot be run here"), "name the folders that changed")
	}
	base, err := s.Env.git(".", "merge-base", since, "HEAD")
	if err != nil {
		return refuse(err, "run the command in a repository of git that has the revision, or name folders. A shallow "+
			"clone may lack it (fetch-depth: 0 in GitHub Actions)")
	}
	changed, err := s.Env.git(".", "diff", "--name-only", "-z", "--no-renames", strings.TrimSpace(base))
	if err != nil {
		return refuse(err, "")
	}
	added, err := s.Env.git(".", "ls-files", "--others", "--exclude-standard", "--full-name", "-z", ":/")
	if err != nil {
		return refuse(err, "")
	}
	files := strings.Split(changed+added, "\x00")
	for _, path := range paths {
		prefix, err := s.Env.git(path, "rev-parse", "--show-prefix")
		if err != nil {
			return refuse(fmt.Errorf("%s: %w", path, err), "name folders of the repository")
		}
		prefix = strings.TrimSuffix(prefix, "\n")
		if slices.ContainsFunc(files, func(file string) bool { return file != "" && strings.HasPrefix(file, prefix) }) ||
			sharesChanged(s, path, files) {
			kept = append(kept, path)
		}
	}
	return kept, nil
}

// sharesChanged reports whether an application with a root names a file of the list, which has the files of the repository. It
// is true for an application that cannot be read: the command says why.
func sharesChanged(s *Session, path string, files []string) bool {
	at, err := s.Env.Disk.LocateApplication(path)
	if err != nil {
		return true
	}
	if hasRoot, err := appfile.MayHaveRoot(at.Files, at.Name); err != nil || !hasRoot {
		return err != nil
	}
	read, err := s.ReadFiles(path)
	top, gitErr := s.Env.git(path, "rev-parse", "--show-toplevel")
	if err != nil || gitErr != nil || read.Problems != nil {
		return true
	}
	top = filepath.FromSlash(strings.TrimSuffix(top, "\n"))
	for _, name := range at.sourcesOf(read.Application) {
		if file, isBelow := nameBelow(top, name); isBelow && slices.Contains(files, file) {
			return true
		}
	}
	return false
}

// sourcesOf returns the absolute paths of the files that an application was read from. A symbolic link has two: its own and
// that of what it leads to.
func (at ApplicationLocation) sourcesOf(app *appfile.Application) (all []string) {
	dir, err := filepath.EvalSymlinks(at.dir)
	if err != nil {
		return nil
	}
	from := filepath.FromSlash(slashpath.Dir(app.File))
	if !at.local {
		from = filepath.Clean(at.folder)
	}
	for name := range app.Source {
		rel, err := filepath.Rel(from, filepath.FromSlash(name))
		if !at.local {
			rel, err = filepath.FromSlash(name), nil
		}
		if err != nil {
			continue
		}
		own := filepath.Join(dir, rel)
		all = append(all, own)
		if target, err := filepath.EvalSymlinks(own); err == nil && target != own {
			all = append(all, target)
		}
	}
	return all
}

// git runs git in a folder, which may also be that of a file, and returns its output. Its error is what git says.
func (e Env) git(path string, args ...string) (string, error) {
	dir, err := e.Disk.absolute(path)
	if err != nil {
		return "", err
	}
	if _, err := fs.Stat(e.Disk.FS(dir), "."); err != nil {
		dir = filepath.Dir(dir)
	}
	out, said, err := e.RunGit(dir, args...)
	if err != nil {
		line, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
		return "", errors.New(cmp.Or(strings.TrimPrefix(line, "fatal: "), err.Error()))
	}
	return out, nil
}
