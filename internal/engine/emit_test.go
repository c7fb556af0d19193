package engine

import (
	"context"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// A stage emits events from its work and from the checks beside it. They are shown one at a time, in
// the order of the journal.
func TestEventsAreShownOneAtATimeInTheOrderOfTheJournal(t *testing.T) {
	const goroutines, each = 4, 50
	ctx := context.Background()
	j, err := journal.Open(filepath.Join(t.TempDir(), "journal.db"), clock.Real())
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if err := j.CreateDeployment(ctx, journal.Deployment{ID: "slc-1", Account: "123456789012", Region: "us-east-1",
		Cluster: "prod", Service: "web", State: journal.Running, Plan: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	var showing, overlaps atomic.Int32
	var shown []int64
	e := &Engine{Journal: j, Clock: clock.Real(), OnEvent: func(env sluice.Envelope) {
		if showing.Add(1) > 1 {
			overlaps.Add(1)
		}
		runtime.Gosched()
		if env.Seq > 0 {
			shown = append(shown, env.Seq)
		}
		showing.Add(-1)
	}}
	h := &host{engine: e, deployment: "slc-1", stage: "1 ECS_SYNC"}
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for range each {
				h.Emit(sluice.Noted{Message: "a note"})
				h.Emit(sluice.Printed{Container: "web", Line: "a line"})
			}
		})
	}
	all.Wait()
	if err := h.recordingError(); err != nil {
		t.Fatal(err)
	}
	if n := overlaps.Load(); n > 0 {
		t.Errorf("%d events were shown while another one was", n)
	}
	if len(shown) != goroutines*each {
		t.Errorf("%d of %d recorded events were shown", len(shown), goroutines*each)
	}
	for i := 1; i < len(shown); i++ {
		if shown[i] <= shown[i-1] {
			t.Fatalf("event %d was shown after event %d", shown[i], shown[i-1])
		}
	}
}
