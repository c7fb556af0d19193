package stage_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/stage"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// A stage that ends by itself just when its timeout passes has one cause: its own. An AWS that does not answer is the
// reason why the stage lasted so long.
func TestEndJustWhenTheTimeoutPasses(t *testing.T) {
	for kind, c := range map[sluice.Kind]struct {
		ends  sluice.Kind
		cause string
	}{
		sluice.Stall:       {sluice.Stall, "the deployment's timeout of 1h passed"},
		sluice.Halted:      {sluice.Halted, "the deployment's timeout of 1h passed"},
		sluice.Unreachable: {sluice.Stall, "the stage's timeout of 1h0m0s passed: the deployment's timeout of 1h passed"},
	} {
		stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
			files := b.Files("sim/web:v2", strings.Replace(stagetest.CanaryPipeline, "{name: ECS_CANARY_ROLLOUT,",
				"{name: ECS_CANARY_ROLLOUT, timeout: 1h,", 1))
			p := stagetest.Got(b.Plan(files, mode.Options{}))(b)
			h := &memoryHost{values: map[string][]byte{}, began: b.Clock.Now()}
			r := stagetest.Got(stage.Open(step.Config{Account: b.Account, Clock: b.Clock, Plan: p, Deployment: "slc-host",
				Host: h, Interrupt: func(ctx context.Context) error {
					if err := b.Clock.Sleep(context.WithoutCancel(ctx), time.Hour); err != nil {
						return err
					}
					return &sluice.Error{Kind: kind, Err: errors.New("the deployment's timeout of 1h passed")}
				}}))(b)
			err := r.Execute(context.Background())
			if got := fmt.Sprint(err); sluice.KindOf(err) != c.ends || strings.TrimPrefix(got,
				"ECS_CANARY_ROLLOUT (prod/web): ") != c.cause {
				b.Errorf("%s ends as %s: %s; want %s: %s", kind, sluice.KindOf(err), got, c.ends, c.cause)
			}
		})
	}
}
