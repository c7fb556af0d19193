package plan

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
)

var t0 = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// pipeline: rollout, wait 1m, approval by two, clean; rollback is index 4.
func pipeline() *Plan {
	return &Plan{AutoRollback: true, Stages: []Stage{
		{Index: 0, Name: appfile.StageCanaryRollout, Scale: 50},
		{Index: 1, Name: appfile.StageWait, Duration: time.Minute},
		{Index: 2, Name: appfile.StageApproval, Approvals: 2, Approvers: []string{"ann", "bob", "eve"}},
		{Index: 3, Name: appfile.StageCanaryClean},
	}, Rollback: Stage{Index: 4, Name: appfile.StageRollback}}
}

func done(i int) Result { return Result{Index: i, Status: Done, Began: t0} }

func failed(i int, k sluice.Kind) Result {
	return Result{Index: i, Status: Failed, Began: t0, Kind: k, Cause: "boom"}
}

// AWS finishes a stage alone only if no approval and no gate is left.
func TestEndsAfter(t *testing.T) {
	p := pipeline()
	p.Stages = append(p.Stages, Stage{Index: 4, Name: appfile.StageWait, Gates: []appfile.Gate{{}}},
		Stage{Index: 5, Name: appfile.StageWait})
	for index, want := range []bool{false, false, false, false, true, true} {
		if got := p.EndsAfter(index); got != want {
			t.Errorf("EndsAfter(%d) = %t, want %t", index, got, want)
		}
	}
}

func TestNext(t *testing.T) {
	yes := func(by string) Command { return Command{Kind: Approve, Stage: 2, By: by} }
	manual := pipeline()
	manual.AutoRollback = false
	limited := pipeline()
	limited.Stages[2].Timeout = time.Hour
	idle := pipeline()
	idle.Idle, idle.Service = true, "web"
	for name, c := range map[string]struct {
		plan     *Plan
		results  []Result
		commands []Command
		now      time.Time
		do       Do
		index    int
		outcome  sluice.Outcome
		expired  bool
	}{
		"begins":                              {do: RunStage, index: 0},
		"a stage that was cut off runs again": {results: []Result{{Index: 0, Status: Running}}, do: RunStage, index: 0},
		"the wait begins":                     {results: []Result{done(0)}, do: WaitUntil, index: 1},
		"the wait goes on": {results: []Result{done(0), {Index: 1, Status: Running, Began: t0}},
			now: t0.Add(59 * time.Second), do: WaitUntil, index: 1},
		"the wait is over": {results: []Result{done(0), {Index: 1, Status: Running, Began: t0}},
			now: t0.Add(time.Minute), do: AwaitApproval, index: 2},
		"one approval of two": {results: []Result{done(0), done(1)}, commands: []Command{yes("ann")},
			do: AwaitApproval, index: 2},
		"the same person twice is one": {results: []Result{done(0), done(1)},
			commands: []Command{yes("ann"), yes("ann")}, do: AwaitApproval, index: 2},
		"a stranger's approval is none": {results: []Result{done(0), done(1)},
			commands: []Command{yes("ann"), yes("mallory")}, do: AwaitApproval, index: 2},
		"approvals of another stage are none": {results: []Result{done(0), done(1)},
			commands: []Command{{Kind: Approve, Stage: 1, By: "ann"}, {Kind: Approve, Stage: 1, By: "bob"}},
			do:       AwaitApproval, index: 2},
		"the approval has time": {plan: limited, results: []Result{done(0), done(1), {Index: 2, Status: Running, Began: t0}},
			now: t0.Add(59 * time.Minute), do: AwaitApproval, index: 2},
		"the approval is too late": {plan: limited, results: []Result{done(0), done(1), {Index: 2, Status: Running,
			Began: t0}}, now: t0.Add(time.Hour), do: AwaitApproval, index: 2, expired: true},
		"two approvals in time, read late": {plan: limited, results: []Result{done(0), done(1), {Index: 2,
			Status: Running, Began: t0}}, commands: []Command{yes("ann"), {Kind: Approve, Stage: 2, By: "bob",
			At: t0.Add(time.Hour - 1)}}, now: t0.Add(time.Hour), do: RunStage, index: 3},
		"the second approval is too late": {plan: limited, results: []Result{done(0), done(1), {Index: 2,
			Status: Running, Began: t0}}, commands: []Command{yes("ann"), {Kind: Approve, Stage: 2, By: "bob",
			At: t0.Add(time.Hour)}}, now: t0.Add(2 * time.Hour), do: AwaitApproval, index: 2, expired: true},
		"two approvals": {results: []Result{done(0), done(1)},
			commands: []Command{yes("ann"), yes("bob")}, do: RunStage, index: 3},
		"all done": {results: []Result{done(0), done(1), done(2), done(3)}, do: Finish,
			outcome: sluice.Succeeded},
		"no task ran: no success": {plan: idle, results: []Result{done(0), done(1), done(2), done(3)},
			do: Finish, outcome: sluice.Gone},
		"a failure is rolled back": {results: []Result{failed(0, sluice.Unhealthy)}, do: RunStage, index: 4},
		"a failure is left, if asked": {plan: manual, results: []Result{failed(0, sluice.Unhealthy)},
			do: Finish, outcome: sluice.Failed},
		"a stall without rollback is one": {plan: manual, results: []Result{failed(0, sluice.Stall)}, do: Finish,
			outcome: sluice.Stalled},
		"what another took over is left": {results: []Result{failed(0, sluice.LostClaim)}, do: Finish,
			outcome: sluice.Superseded},
		"a rollback that was cut off goes on": {results: []Result{failed(0, sluice.Unhealthy),
			{Index: 4, Status: Running}}, do: RunStage, index: 4},
		"rolled back": {results: []Result{failed(0, sluice.Unhealthy), done(4)}, do: Finish,
			outcome: sluice.RolledBack},
		"the rollback failed": {results: []Result{failed(0, sluice.Unhealthy), failed(4, "")},
			do: Finish, outcome: sluice.Failed},
		"abort leaves it": {results: []Result{done(0)}, commands: []Command{{Kind: Abort}},
			do: Finish, outcome: sluice.Stopped},
		"rollback asked for": {results: []Result{done(0)}, commands: []Command{{Kind: RollbackNow}},
			do: RunStage, index: 4},
		"rollback of what succeeded": {results: []Result{done(0), done(1), done(2), done(3)},
			commands: []Command{{Kind: RollbackNow}}, do: RunStage, index: 4},
		"rollback after abort": {results: []Result{done(0)},
			commands: []Command{{Kind: Abort}, {Kind: RollbackNow}}, do: RunStage, index: 4},
		"abort after rollback": {results: []Result{done(0), {Index: 4, Status: Running}},
			commands: []Command{{Kind: RollbackNow}, {Kind: Abort}}, do: Finish, outcome: sluice.Stopped},
		"the service is gone, as the end of the deployment finds out": {results: []Result{failed(0, sluice.NotFound),
			failed(4, sluice.NotFound)}, do: Finish, outcome: sluice.Failed},
		"another took over during the rollback": {results: []Result{failed(0, sluice.Unhealthy),
			failed(4, sluice.Overtaken)}, do: Finish, outcome: sluice.Superseded},
		"a rollback stalls": {results: []Result{failed(0, sluice.Unhealthy), failed(4, sluice.Stall)}, do: Finish,
			outcome: sluice.Failed},
		"a rollback pauses too": {results: []Result{failed(0, sluice.Unhealthy),
			{Index: 4, Status: Running}}, commands: []Command{{Kind: Pause}}, do: StayPaused},
		"a resumed rollback": {results: []Result{failed(0, sluice.Unhealthy),
			{Index: 4, Status: Running}}, commands: []Command{{Kind: Pause}, {Kind: Resume}}, do: RunStage, index: 4},
		"paused": {results: []Result{done(0)}, commands: []Command{{Kind: Pause}},
			do: StayPaused},
		"resumed": {results: []Result{done(0)},
			commands: []Command{{Kind: Pause}, {Kind: Resume}}, do: WaitUntil, index: 1},
	} {
		t.Run(name, func(t *testing.T) {
			if c.plan == nil {
				c.plan = pipeline()
			}
			if c.now.IsZero() {
				c.now = t0
			}
			got := Next(c.plan, c.results, c.commands, c.now)
			if got.Do != c.do || got.Index != c.index || got.Outcome != c.outcome || got.Expired != c.expired {
				t.Errorf("got %s stage %d %q (%s), want %s stage %d %q", got.Do, got.Index, got.Outcome, got.Cause,
					c.do, c.index, c.outcome)
			}
		})
	}
}

func TestPassedWaitsAreNamed(t *testing.T) {
	got := Next(pipeline(), []Result{done(0), {Index: 1, Status: Running, Began: t0}}, nil, t0.Add(time.Hour))
	if len(got.Passed) != 1 || got.Passed[0] != 1 {
		t.Errorf("passed %v, want the wait", got.Passed)
	}
}

// Whatever results and commands there are: nothing runs after a stage that is
// not done, a finished rollback ends it, and the answer depends on nothing else.
func TestNextNeverSkipsAndAgreesWithItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := pipeline()
		var results []Result
		for i := range 5 {
			if rapid.Bool().Draw(t, "begun") {
				results = append(results, Result{Index: i, Began: t0,
					Status: rapid.SampledFrom([]Status{Running, Done, Failed}).Draw(t, "status"),
					Kind: rapid.SampledFrom([]sluice.Kind{"", sluice.Unhealthy, sluice.Overtaken,
						sluice.Halted}).Draw(t, "kind")})
			}
		}
		var commands []Command
		for range rapid.IntRange(0, 3).Draw(t, "commands") {
			commands = append(commands, Command{Kind: rapid.SampledFrom([]string{Approve, Pause, Resume, Abort,
				RollbackNow}).Draw(t, "command"), Stage: 2, By: "ann"})
		}
		now := t0.Add(time.Duration(rapid.IntRange(0, 200).Draw(t, "s")) * time.Second)
		s := Next(p, results, commands, now)
		if again := Next(p, results, commands, now); again.Do != s.Do || again.Index != s.Index ||
			again.Outcome != s.Outcome {
			t.Fatalf("first %v, then %v", s, again)
		}
		if s.Do == RunStage && s.Index < 4 {
			for _, r := range results {
				if r.Status == Failed && r.Index <= s.Index {
					t.Fatalf("stage %d runs after stage %d failed", s.Index, r.Index)
				}
				if r.Index == s.Index && r.Status == Done {
					t.Fatalf("stage %d runs though it is done", s.Index)
				}
			}
		}
	})
}
