package deploy

import (
	"reflect"
	"strings"
	"testing"
)

// A command of sluice run is a list of words, in one of two forms; text with quotes is refused,
// because a shell would split it in another way.
func TestParseCommand(t *testing.T) {
	for flag, want := range map[string][]string{
		"web=rake db:migrate":           {"web", "rake", "db:migrate"},
		`web=["sh","-c","a  'b' | wc"]`: {"web", "sh", "-c", "a  'b' | wc"},
		"web=A=1 env":                   {"web", "A=1", "env"},
		"web":                           {"--command is not CONTAINER=COMMAND"},
		"=rake":                         {"--command is not CONTAINER=COMMAND"},
		"web= ":                         {"--command is not CONTAINER=COMMAND"},
		`web=sh -c "a b"`:               {"--command of web has quotes"},
		`web=["sh",`:                    {"--command of web: unexpected end of JSON input"},
	} {
		container, words, err := parseCommand(flag)
		got := append([]string{container}, words...)
		if err != nil {
			got = []string{err.Error()}
			if strings.Contains(got[0], want[0]) {
				continue
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, want %q", flag, got, want)
		}
	}
}

// A variable or a tag that is given twice is refused: one of its values had no effect.
func TestRunFlagsGivenTwice(t *testing.T) {
	for want, o := range map[string]runFlags{
		"--env gives web=A twice": {env: []string{"web=A=1", "side=A=1", "web=A=2"}},
		"--tags gives a twice":    {tags: []string{"a=1,b=2", "a=3"}},
	} {
		_, err := o.runOptions(nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
