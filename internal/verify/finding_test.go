package verify

import (
	"errors"
	"testing"

	"github.com/sluice-ecs/sluice"
)

// Only a resource that does not exist is an error: what cannot be read may be as it should be.
func TestWhatCannotBeReadIsAWarning(t *testing.T) {
	for kind, want := range map[sluice.Kind]Status{sluice.NotFound: Error, sluice.Denied: Warning,
		sluice.Unreachable: Warning, sluice.Throttled: Warning, "": Warning} {
		var f findings
		err := &sluice.Error{Op: "iam:GetRole", Kind: kind, Err: errors.New("no"), Next: "allow it"}
		if f.judge("role", err, "it does not exist", "create it") || len(f.all) != 1 || f.all[0].Status != want {
			t.Errorf("%q: %+v", kind, f.all)
		}
	}
	var f findings
	if !f.judge("role", nil, "", "") || len(f.all) != 0 {
		t.Error(f.all)
	}
}
