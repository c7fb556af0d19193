package layers

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	accountInARN = regexp.MustCompile(`arn:aws[a-z-]*:[a-z0-9-]*:[a-z0-9-]*:([0-9]{12})`)
	ownPath      = regexp.MustCompile(`(?:^|[^A-Za-z0-9_.\-/}])/(?:work|root)/`)
)

// checkText tells account numbers and paths that belong to somebody.
func checkText(name string, content []byte) []string {
	if bytes.IndexByte(content, 0) >= 0 {
		return nil // no text
	}
	var bad []string
	for n, line := range strings.Split(string(content), "\n") {
		for _, m := range accountInARN.FindAllStringSubmatch(line, -1) {
			if !slices.Contains(knownAccounts, m[1]) {
				bad = append(bad, fmt.Sprintf("%s:%d: account %s in an ARN: use %s", name, n+1, m[1],
					strings.Join(knownAccounts, " or ")))
			}
		}
		if m := ownPath.FindString(line); m != "" {
			bad = append(bad, fmt.Sprintf("%s:%d: a path of somebody's machine: %s", name, n+1, strings.TrimSpace(m)))
		}
	}
	return bad
}

// trackedFiles are the files under version control; without it there is nothing to
// check, because what lies about in a folder is nobody's statement.
func trackedFiles(t *testing.T, root string) []string {
	t.Helper()
	cmd := exec.Command("git", "ls-files", "-z")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("not a git checkout: %v", err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

func TestTrackedTextGivesNothingAway(t *testing.T) {
	root := moduleRoot(t)
	for _, name := range trackedFiles(t, root) {
		content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			continue // deleted in the working tree, or a link
		}
		for _, bad := range checkText(name, content) {
			t.Error(bad)
		}
	}
}
