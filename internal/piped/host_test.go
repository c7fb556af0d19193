package piped_test

import (
	"errors"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/sluice-ecs/sluice/internal/piped"
	"github.com/sluice-ecs/sluice/internal/piped/contract"
	"github.com/sluice-ecs/sluice/internal/stage"
	"github.com/sluice-ecs/sluice/internal/stage/hosttest"
)

func TestHostOnPipedsMetadata(t *testing.T) {
	t.Parallel()
	hosttest.Run(t, func(t *testing.T) hosttest.Subject {
		f := newFake(t)
		t.Cleanup(func() {
			for _, w := range f.wrong {
				t.Errorf("piped would refuse: %s", w)
			}
		})
		open := func(deployment string) func(*testing.T) stage.Host {
			f.known[deployment] = true
			return func(t *testing.T) stage.Host {
				conn := got(grpc.NewClient("passthrough:///"+f.addr, grpc.WithTransportCredentials(insecure.NewCredentials())))(t)
				t.Cleanup(func() { _ = conn.Close() })
				return piped.NewHost(t, contract.NewPluginServiceClient(conn), deployment, &contract.PipelineStage{Id: "stage-1"})
			}
		}
		return hosttest.Subject{Open: open("d-1"), Other: open("d-2"), Break: func(*testing.T) {
			f.set(func() { f.putErr = func(string) error { return errors.New("the control plane is away") } })
		}}
	})
}
