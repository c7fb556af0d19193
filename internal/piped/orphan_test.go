package piped_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice/internal/piped/contract"
)

// beParent starts the plugin as its child, tells its own readiness and waits to be
// killed.
func beParent() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("started")
	_ = cmd.Wait()
}

// A plugin whose piped was killed ends by itself, so that the next piped's plugin
// gets the port and no stage runs in two processes.
func TestHazard05PluginExitsWhenPipedIsGone(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	entry := r.entry("dt")
	parent := exec.Command(os.Args[0], binary, "start", "--piped-plugin-service", r.piped.addr, "--config", entry)
	parent.Env = append(r.environ(), parentVar+"=1")
	out := got(parent.StdoutPipe())(t)
	must(t, parent.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || strings.TrimSpace(line) != "started" {
		t.Fatalf("%q %v", line, err)
	}
	orphan := &process{entry: entry}
	orphan.dial(t)
	must(t, parent.Process.Kill())
	_, _ = parent.Process.Wait()
	endWithServer(t, "the orphan to free its port", func() bool { // the next plugin's piped would talk to it else
		_, err := orphan.FetchDefinedStages(context.Background(), &contract.FetchDefinedStagesRequest{})
		return err != nil
	})
	next := r.launch(entry)
	defer next.kill()
}
