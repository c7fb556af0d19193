package cli

import (
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

// edited returns the files of an example with a change of one: each edit is "old|new".
func edited(t *testing.T, example, file string, edits ...string) fstest.MapFS {
	t.Helper()
	files := exampleFiles(t, example)
	text := string(files[file].Data)
	for _, e := range edits {
		old, new, _ := strings.Cut(e, "|")
		if !strings.Contains(text, old) {
			t.Fatalf("%s of %s has no %q", file, example, old)
		}
		text = strings.Replace(text, old, new, 1)
	}
	files[file] = &fstest.MapFile{Data: []byte(text)}
	return files
}

// follow makes the calls of the only command on the screen that the pattern matches.
func (b *diagnosisBench) follow(pattern string) {
	b.Helper()
	found := regexp.MustCompile(pattern).FindAllString(b.out.String(), -1)
	if len(found) != 1 {
		b.Errorf("%d commands match %q, want 1:\n%s", len(found), pattern, &b.out)
		return
	}
	if err := runAWS(b.sim, found[0]); err != nil {
		b.Errorf("the printed command fails: %v", err)
	}
	b.out.Reset()
}

// AWS refuses the switch to EXTERNAL of a service with a circuit breaker or with alarms.
func TestAdvisedSwitchOfTheControllerWorks(t *testing.T) {
	noMachine(t)
	files := edited(t, "rolling", "servicedef.yaml", "serviceName: web|serviceName: web\ndeploymentController: {type: EXTERNAL}")
	screen := playInWorld(t, files, exampleWorld(t, "rolling"), func(b *diagnosisBench) {
		b.sluice("plan", "/app")
		b.follow(`aws ecs update-service .*'`)
		b.sluice("plan", "/app")
	})
	if strings.Contains(screen, "but the file requests EXTERNAL") {
		t.Errorf("after the command the service does not have the controller EXTERNAL:\n%s", screen)
	}
}
