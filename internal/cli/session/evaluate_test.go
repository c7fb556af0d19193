package session

import (
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
)

// A file of overrides is evaluated as the definitions are, as ecspresso does it.
func TestAFileOfAFlagIsEvaluated(t *testing.T) {
	files := fstest.MapFS{"lib.libsonnet": {Data: []byte(`{name: "web"}`)}}
	s, err := New(Env{Rand: strings.NewReader(strings.Repeat("x", 1<<10)), Out: io.Discard, Err: io.Discard,
		Getenv: func(name string) string { return map[string]string{"TAG": "v2"}[name] }, IsTerminal: func(io.Writer) bool { return false },
		Disk: Disk{Getwd: func() (string, error) { return "/", nil }, FS: func(string) fs.FS { return files }}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ file, text, want string }{
		{"plain.json", `{"name": "web"}`, `{"name": "web"}`},
		{"template.json", "{\"name\": \"{{ must_env `TAG` }}\"}", `{"name": "v2"}`},
		{"o.jsonnet", `(import 'lib.libsonnet') + {tag: std.native('must_env')('TAG')}`,
			"{\n   \"name\": \"web\",\n   \"tag\": \"v2\"\n}\n"},
	} {
		if _, got, err := s.Flags.EvaluateFile(s.Env, c.file, []byte(c.text)); err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v", c.file, got, err)
		}
	}
	_, _, err = s.Flags.EvaluateFile(s.Env, "dir/o.json", []byte("\n{{ must_env `NONE` }}"))
	if err == nil || !strings.HasPrefix(err.Error(), "dir/o.json:2:") || !strings.Contains(err.Error(), "NONE is not set") {
		t.Errorf("%v", err)
	}
}
