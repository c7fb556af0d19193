package deploy

import (
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice/internal/ecs"
)

// A revision that something uses, or that is gone, is not deregistered after a rollback.
func TestReplacedRevisionInUse(t *testing.T) {
	all := []ecs.Revision{{Name: "web:3"}, {Name: "web:2"}}
	users := map[string][]string{"web:2": {"service prod/web"}}
	for name, want := range map[string]string{"web:3": "", "web:2": "used by service prod/web", "web:1": "not ACTIVE"} {
		rev, why := replacedRevision{name: name}.findUnused(all, users)
		if (want == "") != (why == "") || !strings.Contains(why, want) || want == "" && rev.Name != name {
			t.Errorf("%s: %v %q", name, rev, why)
		}
	}
}
