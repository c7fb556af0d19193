package session

import (
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/sluice-ecs/sluice"
)

// Jsonnet that takes too long ends the command with an error. The loop here ends after some seconds, so that the
// test leaves nothing behind.
func TestFilesThatTakeTooLong(t *testing.T) {
	files := fstest.MapFS{
		"ecspresso.yml": {Data: []byte("region: us-east-1\ntask_definition: task.jsonnet\n")},
		"task.jsonnet": {Data: []byte("local f(n) = if n == 0 then 'web' else f(n - 1) tailstrict;\n" +
			"{family: f(1000000)}")},
	}
	s, err := New(Env{Rand: strings.NewReader(strings.Repeat("x", 1<<10)), Out: io.Discard, Err: io.Discard,
		Getenv: func(string) string { return "" }, IsTerminal: func(io.Writer) bool { return false },
		Disk: Disk{Getwd: func() (string, error) { return "/", nil },
			FS: func(string) fs.FS { return files }}, LoadLimit: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.LoadApplication(".")
	if err == nil || !strings.Contains(err.Error(), "they are not evaluated after 1ms") ||
		sluice.NextStep(err) != "check the Jsonnet for a loop without an end, and whether AWS answers the lookups" {
		t.Errorf("%v", err)
	}
}

// A variable of --set that no file has, and one of the files that is not set, are told together if one was meant for the
// other.
func TestMisspelledVariableOfSet(t *testing.T) {
	files := fstest.MapFS{"sluice.yaml": {Data: []byte("name: web\n")},
		"taskdef.json": {Data: []byte(`{"family": "web", "containerDefinitions": [{"name": "a", "image": "a:${TAG}"}]}`)}}
	s, err := New(Env{Rand: strings.NewReader(strings.Repeat("x", 1<<10)), Out: io.Discard, Err: io.Discard,
		Getenv: func(string) string { return "" }, IsTerminal: func(io.Writer) bool { return false },
		Disk: Disk{Getwd: func() (string, error) { return "/", nil }, FS: func(string) fs.FS { return files }}})
	if err != nil {
		t.Fatal(err)
	}
	s.Flags.files.set = []string{"TAGG=v1", "OTHER=x"}
	read, err := s.ReadFiles(".")
	if err != nil {
		t.Fatalf("read the files: %v", err)
	}
	got := fmt.Sprint(read.Problems)
	for _, want := range []string{"the variable TAG is not set, or is empty; --set gives TAGG\n",
		"next: give --set TAG=…, or write ${TAGG} here"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}
