package watch_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/watch"
)

// TestFromTheEndOfACodeDeploymentToTheVerdict: over many seeds, successes, failures,
// stops and rollbacks in turn, the verdict follows AWS's own end by 2 s in the median
// and 10 s at worst.
func TestFromTheEndOfACodeDeploymentToTheVerdict(t *testing.T) {
	seeds := 200
	if testing.Short() {
		seeds = 20
	}
	var took []time.Duration
	calls, length := 0, time.Duration(0)
	for seed := range seeds {
		o, hooks, want := codeOptions{seed: uint64(seed)}, []string(nil), sluice.Succeeded
		switch seed % 5 {
		case 1:
			hooks, want = []string{"AfterInstall", "refuse"}, sluice.Failed
		case 2:
			o.group, hooks, want = onFailure, []string{"AfterAllowTraffic", "refuse"}, sluice.RolledBack
		case 3:
			want = sluice.Stopped
		case 4:
			o.group = "terminate: 1m"
		}
		onCode(t, o, func(b *codeBench) {
			id := b.bring("sim/web:v2", "", hooks...)
			if want == sluice.Stopped {
				b.clock.Go(func() {
					b.sleep(time.Duration(10+seed%30) * time.Second)
					b.stop(id, false)
				})
			}
			v := b.follow(verdict.Wanted{Deployment: id, Revision: "web:2", JustCreated: true})
			if v.Outcome != want {
				t.Errorf("seed %d: %s", seed, v.Detail)
			}
			d := b.get(id)
			if d.RollbackInfo != nil && d.RollbackInfo.RollbackDeploymentId != nil {
				d = b.get(*d.RollbackInfo.RollbackDeploymentId)
			}
			took = append(took, b.clock.Now().Sub(*d.CompleteTime))
			calls, length = calls+len(b.calls), length+b.clock.Now().Sub(*d.CreateTime)
		})
	}
	slices.Sort(took)
	median, worst := took[len(took)/2], took[len(took)-1]
	t.Logf("median %s, worst %s; %.1f calls in %s each", median, worst, float64(calls)/float64(seeds),
		(length / time.Duration(seeds)).Round(time.Second))
	if median > 2*time.Second || worst > 10*time.Second {
		t.Errorf("median %s, worst %s", median, worst)
	}
}

// quick makes deployments of about 25 seconds.
const quick = ", provisioning: 1s, pending: 1s, activating: 2s..3s, schedulerLoop: 1s..2s, targetRegistration: 1s, " +
	"deployStep: 1s..2s, weightPropagation: 1s"

// TestCallsOfAShortCodeDeployment: a deployment of 25 seconds, followed from its
// making, costs thirteen calls, eight of them to confirm what callers get, and the verdict is 2 s late in the median.
func TestCallsOfAShortCodeDeployment(t *testing.T) {
	var took, lasted []time.Duration
	var calls []int
	for seed := range 40 {
		onCode(t, codeOptions{seed: uint64(seed), knobs: quick}, func(b *codeBench) {
			id := b.bring("sim/web:v2", "")
			v := b.follow(verdict.Wanted{Deployment: id, Revision: "web:2", JustCreated: true})
			b.is(v, sluice.Succeeded, "", "")
			d := b.get(id)
			took, lasted, calls = append(took, b.clock.Now().Sub(*d.CompleteTime)),
				append(lasted, d.CompleteTime.Sub(*d.CreateTime)), append(calls, len(b.calls))
		})
	}
	slices.Sort(took)
	slices.Sort(lasted)
	slices.Sort(calls)
	t.Logf("median lag %s, worst %s; %d calls in %s in the median", took[20], took[39], calls[20],
		lasted[20].Round(time.Second))
	if took[20] > 2*time.Second || calls[20] > 13 {
		t.Errorf("median lag %s, %d calls", took[20], calls[20])
	}
}

// TestTheFirstCauseOfACodeDeploymentIsNamedSoon: at most 30 s after the first task of
// the replacement has failed.
func TestTheFirstCauseOfACodeDeploymentIsNamedSoon(t *testing.T) {
	worst := time.Duration(0)
	for _, image := range []string{crash, "sim/web:v2?noboot", "sim/web:v2?never-healthy"} {
		for seed := range 10 {
			onCode(t, codeOptions{seed: uint64(seed)}, func(b *codeBench) {
				id := b.bring(image, "")
				var named time.Time
				_, err := b.watch.Wait(context.Background(), watch.Target{Cluster: "prod", Service: "web",
					Wanted: verdict.Wanted{Deployment: id, Revision: "web:2", JustCreated: true, Timeout: time.Hour}},
					func(s watch.Update) {
						if named.IsZero() && s.Verdict.Cause.Task != "" {
							named = s.At
						}
					})
				must(b, err)
				first := b.firstStopped("web:2") // zero: named while it was still stopping
				d := named.Sub(first)
				if !first.IsZero() {
					worst = max(worst, d)
				}
				if named.IsZero() || !first.IsZero() && d > 30*time.Second {
					t.Errorf("%s, seed %d: named %s after the first stopped task", image, seed, d)
				}
			})
		}
	}
	t.Logf("%s at most", worst)
}
