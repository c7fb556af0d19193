package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/load"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// propagationTime is how long after the read-back of a weight every load balancer node uses it.
// AWS does not report this. Stages wait the same time.
const propagates = 10 * time.Second

// demoFollower follows the deployment by its events. It starts a step of the load for each step of
// the deployment and reads the weights from AWS.
type follower struct {
	*demo
	scene    *scene
	plan     *plan.Plan
	show     renderer
	load     *load.Load
	rows     []*demoRow
	canaries map[string]bool // IDs of the canary's tasks
	asked    int             // requested weight of the canary, percent
}

// addRow adds a row and returns its name.
func (f *follower) row(name string, asked int) string {
	f.asked = asked
	f.rows = append(f.rows, &demoRow{Step: name, Asked: asked, ReadBack: asked})
	return name
}

// handleEvent handles one event. The deployment waits until it returns.
func (f *follower) see(ctx context.Context, e sluice.Envelope) {
	f.show.event(e)
	switch ev := e.Open().(type) {
	case sluice.StageStarted:
		if ev.Name != appfile.StageTrafficRouting && ev.Name != appfile.StageWait {
			f.step(ctx, stepName(ev.Name), f.asked, 0)
		}
	case sluice.TrafficShifted:
		f.step(ctx, weightName(ev), ev.ToCanary, propagates)
	case sluice.CapacityChanged:
		if ev.Variant == sluice.Canary {
			f.look(ctx)
		}
	case sluice.DeploymentEnded:
		f.step(ctx, "after", f.settled(), 0)
	}
}

// finalWeight returns the canary's weight after the deployment, which equals the initial one.
func (f *follower) settled() int { return f.rows[0].Asked }

// beginStep begins a step of the load. Its shares count after the given time, when all load
// balancer nodes use the weights.
func (f *follower) step(ctx context.Context, name string, asked int, after time.Duration) {
	f.load.Step(f.row(name, asked))
	f.look(ctx)
	f.scene.clock.Go(func() {
		if f.scene.clock.Sleep(ctx, after) == nil {
			f.load.Steady(name)
		}
	})
}

// readWeights reads the weights and the canary's tasks from AWS.
func (f *follower) look(ctx context.Context) {
	t, err := f.demo.look(ctx, f.scene.account, subjectOf(f.plan))
	if err != nil {
		f.show.note("not read back: " + err.Error())
		return
	}
	for _, set := range t.Sets {
		for _, task := range set.Tasks {
			if set.Role == string(sluice.Canary) {
				f.canaries[task.ID] = true
			}
		}
	}
	if len(t.Rules) == 1 && t.Rules[0].Canary != nil {
		f.rows[len(f.rows)-1].ReadBack = *t.Rules[0].Canary
	}
}

// stepName returns, for example, "canary rollout" for ECS_CANARY_ROLLOUT.
func stepName(stage string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(stage, "ECS_"), "_", " "))
}

func weightName(ev sluice.TrafficShifted) string {
	if ev.ToCanary == 0 {
		return "primary 100%"
	}
	return fmt.Sprintf("canary %d%%", ev.ToCanary)
}

// demoResult is the measurements of the demo.
type demoResult struct {
	Outcome  sluice.Outcome `json:"outcome"` // empty: interrupted
	Cause    string         `json:"cause,omitempty"`
	From     string         `json:"from"`
	To       string         `json:"to"`
	Seconds  float64        `json:"seconds"` // of the machine
	Speed    float64        `json:"speed"`
	Rate     float64        `json:"rate"`
	Requests int            `json:"requests"`
	Failed   int            `json:"failed"`
	New      int            `json:"answeredByV2"`
	Steps    []*demoRow     `json:"steps"`

	took time.Duration // of the deployment, in AWS's time
}

// demoRow is the measurements of one step.
type demoRow struct {
	Step     string        `json:"step"`
	Asked    int           `json:"asked"`    // requested weight of the canary, percent
	ReadBack int           `json:"readBack"` // weight that AWS returned, percent
	Share    float64       `json:"share"`    // canary's share of the requests, 0 to 1
	Low      float64       `json:"low"`      // 95 % interval of Share
	High     float64       `json:"high"`
	Of       int           `json:"of"`           // requests that Share is computed from
	New      int           `json:"answeredByV2"` // requests
	Requests int           `json:"requests"`
	Failed   int           `json:"failed"`
	P50      time.Duration `json:"p50"` // nanoseconds
	P99      time.Duration `json:"p99"`

	failures []load.Failure
}

// buildResult combines the weights from AWS with the measurements of the load.
func (f *follower) result(ended engine.Ended, steps []*load.Step, took time.Duration) *demoResult {
	r := &demoResult{From: f.plan.From, To: f.plan.To, Seconds: took.Seconds(), Speed: f.speed, Rate: f.rate, Steps: f.rows}
	if d := ended.Deployment; d.State == journal.Ended {
		r.Outcome, r.Cause, r.took = d.Outcome, d.Cause, d.Ended.Sub(d.Began)
	}
	for i, s := range steps {
		row := f.rows[i]
		f.measure(row, s)
		r.Requests += row.Requests
		r.Failed += row.Failed
		r.New += row.New
	}
	return r
}

func (f *follower) measure(row *demoRow, s *load.Step) {
	hits := 0
	for task, n := range s.Steady {
		row.Of += n
		if f.canaries[task] {
			hits += n
		}
	}
	if row.Of > 0 {
		row.Share = float64(hits) / float64(row.Of)
	}
	row.Low, row.High = load.Wilson(hits, row.Of)
	row.New, row.Requests, row.Failed, row.failures = s.Versions["v2"], s.Requests, s.Failed(), s.Failures()
	row.P50, row.P99 = s.Quantile(.5), s.Quantile(.99)
}
