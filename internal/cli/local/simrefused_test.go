package local

import (
	"io/fs"
	"net"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sluice-ecs/sluice/internal/cli/session"
)

// A port in use and an application file for a world are called that.
func TestSimIsRefused(t *testing.T) {
	files := fstest.MapFS{"web.yaml": {Data: []byte("input: {taskDefinitionFile: taskdef.yaml}\n")}}
	p := &program{&session.Session{Env: session.Env{Disk: session.Disk{Getwd: func() (string, error) { return "/", nil },
		FS: func(string) fs.FS { return files }}}}}
	used, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer used.Close()
	for want, o := range map[string]simOptions{
		"another program, perhaps a local AWS, listens there": {speed: 1, listen: used.Addr().String()},
		"this is an application file":                         {speed: 1, world: "web.yaml"},
	} {
		if err := p.runSim(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
