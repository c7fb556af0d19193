package session

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
)

// Register adds the flags that name applications.
func (f *SeveralFlag) Register(c *cobra.Command) {
	f.ApplicationFlag.Register(c)
	c.Flags().StringVar(&f.since, "changed-since", "",
		"only applications with files that differ from git's `revision`, such as origin/main, where this branch left it")
}

// keepChanged returns the paths with files that differ from the revision of --changed-since: committed, changed or new.
func (s *Session) keepChanged(c *cobra.Command, paths []string, since string) (kept []string, err error) {
	refuse := func(err error, next string) ([]string, error) {
		return nil, &sluice.Error{Op: c.CommandPath() + " --changed-since", Resource: since, Err: err, Next: next}
	}
	if strings.HasPrefix(since, "-") {
		return refuse(errors.New("it is no revision"), "give a revision of git, such as origin/main")
	}
	if s.Env.RunGit == nil {
		return refuse(errors.New("git cannot be run here"), "name the folders that changed")
	}
	base, err := s.git(".", "merge-base", since, "HEAD")
	if err != nil {
		return refuse(err, "run the command in a repository of git that has the revision, or name folders. A shallow "+
			"clone may lack it (fetch-depth: 0 in GitHub Actions)")
	}
	changed, err := s.git(".", "diff", "--name-only", "-z", "--no-renames", strings.TrimSpace(base))
	if err != nil {
		return refuse(err, "")
	}
	added, err := s.git(".", "ls-files", "--others", "--exclude-standard", "--full-name", "-z", ":/")
	if err != nil {
		return refuse(err, "")
	}
	files := strings.Split(changed+added, "\x00")
	for _, path := range paths {
		prefix, err := s.git(path, "rev-parse", "--show-prefix")
		if err != nil {
			return refuse(fmt.Errorf("%s: %w", path, err), "name folders of the repository")
		}
		prefix = strings.TrimSuffix(prefix, "\n")
		if slices.ContainsFunc(files, func(file string) bool { return file != "" && strings.HasPrefix(file, prefix) }) {
			kept = append(kept, path)
		}
	}
	return kept, nil
}

// git runs git in a folder, which may also be that of a file, and returns its output. Its error is what git says.
func (s *Session) git(path string, args ...string) (string, error) {
	dir, err := s.Env.absolutePath(path)
	if err != nil {
		return "", err
	}
	if _, err := fs.Stat(s.Env.FS(dir), "."); err != nil {
		dir = filepath.Dir(dir)
	}
	out, said, err := s.Env.RunGit(dir, args...)
	if err != nil {
		line, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
		return "", errors.New(cmp.Or(strings.TrimPrefix(line, "fatal: "), err.Error()))
	}
	return out, nil
}
