package piped

import (
	"context"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/internal/piped/contract"
	"github.com/sluice-ecs/sluice/internal/stage"
)

// NewHost is the host that a stage of the plugin ecs runs on.
func NewHost(t *testing.T, c contract.PluginServiceClient, deployment string, s *contract.PipelineStage) stage.Host {
	t.Helper()
	log := openLog(c, deployment, s)
	t.Cleanup(log.close)
	h := &host{piped: c, plugin: "ecs", deployment: deployment, tell: log.event}
	var err error
	if h.start, err = began(context.Background(), h, s.GetId(), time.Now()); err != nil {
		t.Fatal(err)
	}
	return h
}
