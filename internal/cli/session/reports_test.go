package session

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice/internal/secret"
)

// A secret of a lookup is in no file of a CI system, also if a format would escape its characters.
func TestReportsHideSecrets(t *testing.T) {
	const value = `p_w*d|<&]%"x`
	dir := t.TempDir()
	files := map[string]string{"GITHUB_STEP_SUMMARY": filepath.Join(dir, "summary"), "GITHUB_OUTPUT": filepath.Join(dir, "output"),
		"GITHUB_ACTIONS": "true"}
	var out strings.Builder
	s := &Session{Secrets: secret.NewKnown(value), Reports: &Reports{junit: filepath.Join(dir, "junit")},
		Env: Env{Err: &out, Out: &out, Getenv: func(key string) string { return files[key] }}}
	s.Flags.Output = Text
	s.Reports.write(s, "sluice deploy", errors.New("before "+value+" after"))
	s.WriteAnnotation(&out, "error", "before "+value+" after", "")
	for _, name := range []string{"summary", "output", "junit"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(text), "before *** after") && !strings.Contains(string(text), "before &#42;&#42;&#42; after") {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
	if got := out.String(); got != "::error::before *** after\n" {
		t.Errorf("the log has %q", got)
	}
}
