package local

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/inspect"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/load"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// propagationTime is how long after the read-back of a weight every load balancer node uses it.
// AWS does not report this. Stages wait the same time.
const propagationTime = 10 * time.Second

// demoFollower follows the deployment by its events. It starts a step of the load for each step of
// the deployment and reads the weights from AWS.
type demoFollower struct {
	*demo
	setup     *demoSetup
	plan      *plan.Plan
	view      show.Renderer
	load      *load.Load
	rows      []*demoRow
	canaries  map[string]bool // IDs of the canary's tasks
	requested int             // requested weight of the canary, percent
}

// addRow adds a row and returns its name.
func (f *demoFollower) addRow(name string, asked int) string {
	f.requested = asked
	f.rows = append(f.rows, &demoRow{Step: name, Requested: asked, ReadBack: asked})
	return name
}

// handleEvent handles one event. The deployment waits until it returns.
func (f *demoFollower) handleEvent(ctx context.Context, e sluice.Envelope) {
	f.view.ShowEvent(e)
	switch ev := e.Open().(type) {
	case sluice.StageStarted:
		if s := (plan.Stage{Name: ev.Name}); !s.ShiftsTraffic() && !s.IsWait() {
			f.beginStep(ctx, stepName(ev.Name), f.requested, 0)
		}
	case sluice.TrafficShifted:
		f.beginStep(ctx, weightName(ev), ev.ToCanary, propagationTime)
	case sluice.CapacityChanged:
		if ev.Variant == sluice.Canary {
			f.readWeights(ctx)
		}
	case sluice.DeploymentEnded:
		f.beginStep(ctx, "after", f.finalWeight(), 0)
	}
}

// finalWeight returns the canary's weight after the deployment, which equals the initial one.
func (f *demoFollower) finalWeight() int { return f.rows[0].Requested }

// beginStep begins a step of the load. Its shares count after the given time, when all load
// balancer nodes use the weights.
func (f *demoFollower) beginStep(ctx context.Context, name string, asked int, after time.Duration) {
	f.load.BeginStep(f.addRow(name, asked))
	f.readWeights(ctx)
	f.setup.clock.Go(func() {
		if f.setup.clock.Sleep(ctx, after) == nil {
			f.load.SetSteady(name)
		}
	})
}

// readWeights reads the weights and the canary's tasks from AWS.
func (f *demoFollower) readWeights(ctx context.Context) {
	t, err := inspect.ReadService(ctx, f.setup.account, f.setup.clock, inspect.TargetOfPlan(f.plan))
	if err != nil {
		f.view.ShowNote("cannot read back the weights: " + err.Error())
		return
	}
	for _, set := range t.TaskSets {
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
	Step      string          `json:"step"`
	Requested int             `json:"asked"`    // requested weight of the canary, percent
	ReadBack  int             `json:"readBack"` // weight that AWS returned, percent
	Share     float64         `json:"share"`    // canary's share of the requests, 0 to 1
	Low       float64         `json:"low"`      // 95 % interval of Share
	High      float64         `json:"high"`
	Of        int             `json:"of"`           // requests that Share is computed from
	New       int             `json:"answeredByV2"` // requests
	Requests  int             `json:"requests"`
	Failed    int             `json:"failed"`
	P50       sluice.Duration `json:"p50"`
	P99       sluice.Duration `json:"p99"`

	failures []load.Failure
}

// buildResult combines the weights from AWS with the measurements of the load.
func (f *demoFollower) buildResult(ended engine.RunResult, steps []*load.Step, took time.Duration) *demoResult {
	r := &demoResult{From: f.plan.From, To: f.plan.To, Seconds: took.Seconds(), Speed: f.speed, Rate: f.rate,
		Steps: f.rows}
	if d := ended.Deployment; d.State == journal.Ended {
		r.Outcome, r.Cause, r.took = d.Outcome, d.Cause, d.Took()
	}
	for i, s := range steps {
		row := f.rows[i]
		f.measureRow(row, s)
		r.Requests += row.Requests
		r.Failed += row.Failed
		r.New += row.New
	}
	return r
}

func (f *demoFollower) measureRow(row *demoRow, s *load.Step) {
	hits := 0
	for task, n := range s.SteadyByTask {
		row.Of += n
		if f.canaries[task] {
			hits += n
		}
	}
	if row.Of > 0 {
		row.Share = float64(hits) / float64(row.Of)
	}
	row.Low, row.High = load.WilsonInterval(hits, row.Of)
	row.New, row.Requests, row.Failed, row.failures = s.ByVersion["v2"], s.Requests, s.CountFailed(), s.Failures()
	row.P50, row.P99 = sluice.Duration(s.Quantile(.5)), sluice.Duration(s.Quantile(.99))
}
