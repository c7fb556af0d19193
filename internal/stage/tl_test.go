package stage_test

import (
	"os"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

func TestTL(t *testing.T) {
	stagetest.RunNative(t, stagetest.Strategies["BLUE_GREEN"], func(b *stagetest.Bench) {
		began := b.Clock.Now()
		n := 0
		b.Clock.Go(func() {
			for range 2000 {
				for ; n < len(b.Calls); n++ {
					println(b.Clock.Now().Sub(began).Round(100*time.Millisecond).String(), b.Calls[n].Service+":"+b.Calls[n].Operation)
				}
				b.Sleep(50 * time.Millisecond)
			}
		})
		end := b.Deploy(b.NativeFiles(os.Getenv("TLI"), stagetest.Strategies["BLUE_GREEN"]))
		t.Log(end.Outcome, end.Cause, len(b.Calls))
		t.Log(b.EventLog())
	})
}
