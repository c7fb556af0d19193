package local

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sluice-ecs/sluice/internal/cli/session"
)

// The local AWS of `sluice sim` refuses calls beyond AWS's rates, says so, and does
// neither where its world file turns it off.
func TestSimThrottlesUnlessItsWorldFileDisablesIt(t *testing.T) {
	files := fstest.MapFS{"quick.yaml": {Data: []byte("clusters: [prod]\nknobs: {delays: none}\n")},
		"calm.yaml": {Data: []byte("clusters: [prod]\nknobs: {throttle: false}\n")}}
	p := &program{&session.Session{Env: session.Env{Disk: session.Disk{Getwd: func() (string, error) { return "/", nil },
		FS: func(string) fs.FS { return files }}}}}
	for world, want := range map[string]bool{"": true, "quick.yaml": true, "calm.yaml": false} {
		s, err := p.newSim(simOptions{speed: 1, world: world})
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		at, err := s.Listen(t.Context(), "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		printSimHelp(&out, s, at, simOptions{speed: 1})
		at.Close()
		if s.World().Throttles() != want || strings.Contains(out.String(), "throttled, as on AWS") != want {
			t.Errorf("%q: throttles %v, prints\n%s", world, s.World().Throttles(), out.String())
		}
	}
}
