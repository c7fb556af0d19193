package piped

import (
	"context"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/internal/stage"

	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/piped/contract"
)

// NewHost is the host that a stage of the plugin ecs runs on.
func NewHost(t *testing.T, c contract.PluginServiceClient, deployment string, s *contract.PipelineStage) stage.Host {
	t.Helper()
	log := openLog(c, deployment, s)
	t.Cleanup(log.close)
	h := &host{piped: c, plugin: "ecs", deployment: deployment, report: log.logEvent}
	var err error
	if h.start, err = loadBegin(context.Background(), h, s.GetId(), time.Now()); err != nil {
		t.Fatal(err)
	}
	return h
}

// NewPlugin is a plugin in the process of the test, which says what its time is and
// how it gets to AWS and to piped.
func NewPlugin(t testing.TB, entry string, c clock.Clock, connect func(context.Context) (*account.Account, error),
	p contract.PluginServiceClient) contract.DeploymentServiceServer {
	t.Helper()
	e, err := readEntry(entry)
	if err != nil {
		t.Fatal(err)
	}
	to := func(ctx context.Context, _ targetAccess) (*account.Account, error) { return connect(ctx) }
	return &plugin{entry: e, clock: c, targets: newTargetPool(e, c, to), piped: p}
}
