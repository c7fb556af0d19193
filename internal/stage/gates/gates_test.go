package gates_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// judged is a pipeline whose canary gets a fifth of the requests while a stage waits.
func judged(wait string) string {
	return stagetest.Pipeline(stagetest.CanaryRollout, stagetest.ShiftFifth, wait, stagetest.PrimaryRollout,
		stagetest.ShiftBack, stagetest.CleanCanary)
}

func analysisStage(options string) string { return "{name: ANALYSIS, with: {" + options + "}}" }

// gateReads returns the figures of gates that were reported.
func gateReads(b *stagetest.Bench) (all []sluice.GateRead) {
	for _, e := range b.Events {
		if ev, ok := e.Open().(sluice.GateRead); ok {
			all = append(all, ev)
		}
	}
	return all
}

// waited returns how long the stage with a name lasted.
func waited(b *stagetest.Bench, name string) time.Duration {
	var began, ended time.Time
	for _, e := range b.Events {
		if !strings.HasSuffix(e.Stage, " "+name) {
			continue
		}
		switch e.Open().(type) {
		case sluice.StageStarted:
			began = e.At
		case sluice.StageEnded:
			ended = e.At
		}
	}
	return ended.Sub(began)
}

func deploy(b *stagetest.Bench, image, pipeline string) engine.RunResult {
	return b.Deploy(b.Files(image, pipeline))
}

const errorsGate = "metrics: [{signal: errors, worse: 1.5}]"

// A canary that fails 5 % of its requests is rolled back with the counts as the cause, wherever the gate
// stands. The old version serves afterwards.
func TestBadCanaryIsRolledBack(t *testing.T) {
	for name, pipeline := range map[string]string{
		"analysis":       judged(analysisStage("duration: 30m, " + errorsGate)),
		"wait":           judged("{name: WAIT, with: {duration: 30m, gates: [{signal: errors, worse: 1.5}]}}"),
		"whole pipeline": judged("{name: WAIT, with: {duration: 30m}}") + "gates: [{signal: errors, worse: 1.5}]\n",
		"limit":          judged(analysisStage("duration: 30m, metrics: [{signal: errors, max: 1%}]")),
	} {
		t.Run(name, func(t *testing.T) {
			stagetest.RunPlain(t, func(b *stagetest.Bench) {
				before := b.State()
				end := deploy(b, "sim/web:v2?errors=5%", pipeline)
				b.ExpectEnd(end, sluice.RolledBack, "gate errors", before)
				all := gateReads(b)
				last := all[len(all)-1]
				if last.Verdict != sluice.GateBad || last.Canary.Bad == 0 || len(all) > 8 {
					b.Errorf("%d readings, the last one: %s", len(all), last.Text())
				}
			})
		})
	}
}

// A canary within its limit passes before the time is over, and a limit needs no more readings than that.
func TestGoodCanaryPassesEarly(t *testing.T) {
	stagetest.RunPlain(t, func(b *stagetest.Bench) {
		end := deploy(b, "sim/web:v2", judged(analysisStage("duration: 30m, metrics: [{signal: errors, max: 1%}]")))
		if end.Outcome != sluice.Succeeded {
			b.Fatalf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
		}
		if took := waited(b, "ANALYSIS"); took < 3*time.Minute || took > 10*time.Minute {
			b.Errorf("the stage took %s", took)
		}
	})
}

// Without failures of any version there is nothing to compare: the gate holds at the end of its time, and a
// person decides.
func TestUndecidedGateAsks(t *testing.T) {
	stagetest.RunPlain(t, func(b *stagetest.Bench) {
		asked, id := time.Time{}, b.Start(b.Files("sim/web:v2", judged(analysisStage("duration: 10m, "+errorsGate))))
		b.Clock.Go(func() {
			for asked.IsZero() {
				stagetest.Must(b, b.Clock.Sleep(context.Background(), time.Minute))
				for _, e := range b.Events {
					if ev, ok := e.Open().(sluice.ApprovalAwaited); ok && ev.Undecided == "errors" {
						asked = e.At
					}
				}
			}
			stagetest.Must(b, b.Engine.SendCommand(context.Background(), id, journal.Approve, 2, "ana"))
		})
		end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
		if end.Outcome != sluice.Succeeded || asked.IsZero() {
			b.Fatalf("%s: %s, asked %s\n%s", end.Outcome, end.Cause, asked, b.EventLog())
		}
		if took := waited(b, "ANALYSIS"); took < 10*time.Minute {
			b.Errorf("the stage took %s", took)
		}
	})
}

// An approval that was given while no process had judged the gates passes none of them: the next process judges, and
// asks.
func TestApprovalBeforeTheQuestionDoesNotCount(t *testing.T) {
	stagetest.RunPlain(t, func(b *stagetest.Bench) {
		id := b.Start(b.Files("sim/web:v2", judged(analysisStage("duration: 5m, "+errorsGate))))
		approve := func() {
			stagetest.Must(b, b.Engine.SendCommand(context.Background(), id, journal.Approve, 2, "ana"))
		}
		ctx, cancel := context.WithCancel(context.Background())
		asked, watch := 0, b.Engine.OnEvent
		b.Engine.OnEvent = func(e sluice.Envelope) {
			watch(e)
			switch ev := e.Open().(type) {
			case sluice.StageStarted:
				if ev.Name == "ANALYSIS" {
					cancel()
				}
			case sluice.ApprovalAwaited:
				asked++
				approve()
			}
		}
		if end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b); end.State != journal.Paused {
			b.Fatalf("the first process left the deployment %s, want it paused in ANALYSIS\n%s", end.State, b.EventLog())
		}
		stagetest.Must(b, b.Clock.Sleep(context.Background(), 10*time.Minute))
		approve()
		end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
		if end.Outcome != sluice.Succeeded || asked != 1 {
			b.Errorf("the second process asked %d times, and the deployment ended as %q; want one question, and a success\n%s",
				asked, end.Outcome, b.EventLog())
		}
	})
}

// A process that does not wait judges gates all the same, also one that resumes. It ends at the next approval, or at a
// question about gates. If none follows, it ends at a WAIT without gates.
func TestNoWaitJudgesGates(t *testing.T) {
	const wait, good, gone = "{name: WAIT, with: {duration: 10m}}", "metrics: [{signal: errors, max: 5%}]", ""
	unknown := analysisStage("duration: 10m, " + errorsGate)
	gated := "{name: WAIT, with: {duration: 10m, gates: [{signal: errors, max: 5%}]}}"
	for name, c := range map[string]struct {
		stages  []string
		waiting string // for what; empty: the deployment succeeds
	}{
		"analysis":                    {[]string{analysisStage("duration: 10m, " + good)}, gone},
		"a wait with gates":           {[]string{gated}, gone},
		"analysis, then a wait":       {[]string{analysisStage("duration: 10m, " + good), wait}, "10m0s to pass (stage 4)"},
		"a wait, then an approval":    {[]string{wait, stagetest.Approval}, "1 approval of stage 4"},
		"all, then an approval":       {[]string{wait, gated, stagetest.Approval, wait}, "1 approval of stage 5"},
		"a wait":                      {[]string{wait}, "10m0s to pass (stage 3)"},
		"analysis without a verdict":  {[]string{unknown}, "a decision about errors (stage 3)"},
		"an approval before analysis": {[]string{stagetest.Approval, gated}, "1 approval of stage 3"},
	} {
		for _, resumes := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, resumed %v", name, resumes), func(t *testing.T) {
				stagetest.RunPlain(t, func(b *stagetest.Bench) {
					id := b.Start(b.Files("sim/web:v2", judged(strings.Join(c.stages, "\n    - "))))
					if resumes {
						ctx, cancel := context.WithCancel(context.Background())
						watch := b.Engine.OnEvent
						b.Engine.OnEvent = func(e sluice.Envelope) {
							if watch(e); strings.HasPrefix(e.Stage, "3 ") {
								cancel()
							}
						}
						stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
						b.Engine.OnEvent = watch
					}
					end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{NoWait: true}))(b)
					if end.WaitingFor != c.waiting || (end.Outcome == sluice.Succeeded) != (c.waiting == gone) {
						b.Errorf("the process ended with the deployment %s %q, waiting for %q; want it waiting for %q\n%s", end.State,
							end.Outcome, end.WaitingFor, c.waiting, b.EventLog())
					}
				})
			})
		}
	}
}

// What follows a missing verdict, and what a dry run does.
func TestReactions(t *testing.T) {
	for name, c := range map[string]struct {
		image, gate string
		want        sluice.Outcome
	}{
		"undecided passes": {"sim/web:v2", "{signal: errors, worse: 1.5, onUndecided: pass}", sluice.Succeeded},
		"undecided fails":  {"sim/web:v2", "{signal: errors, worse: 1.5, onUndecided: fail}", sluice.RolledBack},
		"dry run":          {"sim/web:v2?errors=5%", "{signal: errors, worse: 1.5, dryRun: true}", sluice.Succeeded},
	} {
		t.Run(name, func(t *testing.T) {
			stagetest.RunPlain(t, func(b *stagetest.Bench) {
				end := deploy(b, c.image, judged(analysisStage("duration: 10m, metrics: ["+c.gate+"]")))
				if end.Outcome != c.want {
					b.Fatalf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
				}
				if took := waited(b, "ANALYSIS"); took < 10*time.Minute {
					b.Errorf("the stage took %s", took)
				}
				tells := strings.Contains(end.Cause, "gate errors passed with too little evidence: canary ")
				if tells != (name == "undecided passes") {
					b.Errorf("the outcome says %q", end.Cause)
				}
			})
		})
	}
}
