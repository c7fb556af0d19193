package piped_test

import (
	"context"
	"errors"
	"testing"

	"github.com/sluice-ecs/sluice/internal/stage"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/sluice-ecs/sluice/internal/piped"
	"github.com/sluice-ecs/sluice/internal/piped/contract"
	"github.com/sluice-ecs/sluice/internal/stage/hosttest"
)

// A value is saved whole though the stage is cancelled meanwhile: what AWS was asked
// for before must be known afterwards.
func TestSaveIsNotCutOffByCancellation(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.known["d-1"] = true
	conn := got(grpc.NewClient("passthrough:///"+f.addr, grpc.WithTransportCredentials(insecure.NewCredentials())))(t)
	t.Cleanup(func() { _ = conn.Close() })
	h := piped.NewHost(t, contract.NewPluginServiceClient(conn), "d-1", &contract.PipelineStage{Id: "stage-1"})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	must(t, h.Save(ctx, "canary", []byte("ecs-svc/1")))
	value, found, err := h.Load(context.Background(), "canary")
	if err != nil || !found || string(value) != "ecs-svc/1" {
		t.Errorf("%q %v %v", value, found, err)
	}
}

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
				conn := got(grpc.NewClient("passthrough:///"+f.addr,
					grpc.WithTransportCredentials(insecure.NewCredentials())))(t)
				t.Cleanup(func() { _ = conn.Close() })
				return piped.NewHost(t, contract.NewPluginServiceClient(conn), deployment,
					&contract.PipelineStage{Id: "stage-1"})
			}
		}
		return hosttest.Subject{Open: open("d-1"), Other: open("d-2"), Break: func(*testing.T) {
			f.set(func() { f.putErr = func(string) error { return errors.New("the control plane is away") } })
		}}
	})
}
