package eventtest

import (
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
)

// Each event without values is valid, and so are the first line and kinds of newer versions. Misspelt fields, missing
// ones and values of another type are not.
func TestCheck(t *testing.T) {
	checker, err := NewChecker()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range sluice.Events() {
		if err := checker.CheckEvent(sluice.Seal("slc-1", "", e)); err != nil {
			t.Error(err)
		}
	}
	head := `{"schema":"sluice.events/1","seq":1,"at":"2100-01-01T00:00:00Z","deployment":"slc-1",`
	for line, want := range map[string]string{
		`{"schema":"sluice.events/1"}`:                                              "",
		head + `"kind":"invented","data":{"any":1}}`:                                "",
		head + `"kind":"noted","data":{"message":"hello"}}`:                         "",
		head + `"kind":"noted","data":{"massage":"hello"}}`:                         "massage",
		head + `"kind":"noted","data":{}}`:                                          "message",
		head + `"kind":"noted","data":{"message":7}}`:                               "message",
		head + `"kind":"stageStarted","data":{"index":"0","name":"A","attempt":1}}`: "index",
		`{"schema":"sluice.events/2"}`:                                              "schema",
		`{"seq":1}`:                                                                 "schema",
	} {
		err := checker.Check([]byte(line))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}
