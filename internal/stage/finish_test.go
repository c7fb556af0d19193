package stage_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/stage"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// openAfterStages runs a quick sync from v1 to v2 that keeps two task definitions, with more in its
// file. It returns the stage that ends the deployment.
func openAfterStages(b *stagetest.Bench, more string, cannotResume bool) *stage.Run {
	b.Helper()
	b.Scalable(2, 8, sluice.Suspension{})
	p := stagetest.Got(b.Plan(stagetest.AddLines(b.FilesThatKeep("sim/web:v2", 2), "sluice.yaml", more),
		mode.Options{}))(b)
	h := &memoryHost{values: map[string][]byte{}, began: b.Clock.Now()}
	for i := range p.Stages {
		stagetest.Must(b, runStage(b, p, i, h))
	}
	return stagetest.Got(stage.Open(step.Config{Account: b.Account, Clock: b.Clock, Plan: p, Index: len(p.Stages),
		Deployment: "slc-host", Host: h, RetryFor: time.Minute, CannotResume: cannotResume}))(b)
}

func promoteAnother(b *stagetest.Bench) { b.PromoteAnother("terraform") }

// One function ends a deployment for a host that can resume it and for one that cannot. Each case
// has what it left in AWS: whether auto scaling is suspended and the service is claimed.
func TestFinish(t *testing.T) {
	const (
		nothing   = "suspended false, claimed false"
		claim     = "suspended false, claimed true"
		claimBoth = "suspended true, claimed true"
	)
	for name, c := range map[string]struct {
		more            string // in the application file
		before          func(*stagetest.Bench)
		outcome         sluice.Outcome
		resumable, once string // what is left if the host can resume, and if it cannot
		fails           string // the hosts for which Finish is an error: "", resumable, both
	}{
		"nothing goes wrong": {stagetest.SuspendsScaling, func(*stagetest.Bench) {}, sluice.Succeeded, nothing, nothing,
			""},
		"another revision is PRIMARY": {stagetest.SuspendsScaling, promoteAnother, sluice.Superseded, nothing,
			nothing, ""},
		"old task definitions are not listed": {stagetest.SuspendsScaling, func(b *stagetest.Bench) {
			stagetest.Must(b, b.Sim.Inject("no-send ecs:ListTaskDefinitions"))
		}, sluice.Succeeded, claimBoth, nothing, "resumable"},
		"auto scaling is not restored": {stagetest.SuspendsScaling, func(b *stagetest.Bench) {
			stagetest.Must(b, b.Sim.Inject("no-send application-autoscaling:RegisterScalableTarget"))
		}, sluice.Succeeded, claimBoth, claimBoth, "both"},
		"the claim is not released": {"", func(b *stagetest.Bench) {
			stagetest.Must(b, b.Sim.Inject("no-send ecs:UntagResource"))
		}, sluice.Succeeded, claim, claim, "resumable"},
	} {
		for _, cannotResume := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/resumable %v", name, !cannotResume), func(t *testing.T) {
				stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
					w := openAfterStages(b, c.more, cannotResume)
					c.before(b)
					end, err := w.Finish(context.Background(), sluice.Succeeded)
					want := c.resumable
					if cannotResume {
						want = c.once
					}
					left := fmt.Sprintf("suspended %v, claimed %v", b.Suspension() != sluice.Suspension{},
						strings.Contains(b.State(), plan.ClaimTag))
					fails := c.fails == "both" || c.fails == "resumable" && !cannotResume
					if left != want || (err != nil) != fails || end.Outcome != c.outcome ||
						(end.ClaimErr != nil) != (want == claim) {
						b.Errorf("%s %v (%v): %s, want %s", end.Outcome, err, end.ClaimErr, left, want)
					}
					b.Sim.ClearFaults()
					if err == nil {
						return
					}
					if end = stagetest.Got(w.Finish(context.Background(),
						sluice.Succeeded))(b); end.Outcome != c.outcome {
						b.Errorf("the second time: %s", end.Outcome)
					}
					expectEnded(b)
				})
			})
		}
	}
}

// expectEnded compares what the end of a deployment leaves.
func expectEnded(b *stagetest.Bench) {
	b.Helper()
	if s := b.Suspension(); s != (sluice.Suspension{}) || strings.Contains(b.State(), "tag ") {
		b.Errorf("%+v; %s", s, b.State())
	}
}

// "Rolled back" is an outcome only if the former revision serves: a last read shows it.
func TestRolledBackIsConfirmed(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		w := openAfterStages(b, "", false)
		end := stagetest.Got(w.Finish(context.Background(), sluice.RolledBack))(b)
		if end.Outcome != sluice.Superseded {
			b.Errorf("%s, although the new revision serves; want %s", end.Outcome, sluice.Superseded)
		}
	})
}

// Without a verdict on the revision that serves, a plan does not say "no changes". There is none while another
// deployment has claimed the service: it may replace that revision.
func TestClaimedServiceHasNoVerdict(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		p := stagetest.Got(b.Plan(b.Files("sim/web:v1", stagetest.CanaryPipeline), mode.Options{}))(b)
		for claim, want := range map[string]bool{"": true, "slc-other": false} {
			now := stagetest.Got(stage.JudgeCurrent(context.Background(), b.Account, b.Clock, p, plan.AWSState{Claim: claim}))(b)
			if (now != nil) != want {
				b.Errorf("claim %q: the verdict is %+v", claim, now)
			}
		}
	})
}
