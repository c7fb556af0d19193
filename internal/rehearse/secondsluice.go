package rehearse

import (
	"context"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/stage"
	"github.com/sluice-ecs/sluice/internal/survey"
)

// SecondSluices are the sluices on other machines that deploy the same service.
type SecondSluices struct {
	env    *Environment
	report *Report

	running     int          // number of those that run
	plans       []*plan.Plan // of those that made one
	finished    bool         // one succeeded or rolled back
	gaveUp      bool         // one ended otherwise, and released its claim
	unclaimed   time.Time    // when the claim of one ends that nobody resumes any more; zero: there is none
	deployedNew bool         // it deployed the new version
}

// Start starts a sluice on another machine that deploys the same service, and resumes it after a pause. onEvent receives its
// events; nil: they are ignored.
func (s *SecondSluices) Start(o mode.Options, onEvent func(sluice.Envelope)) {
	s.running++
	s.env.Clock.Go(func() {
		defer func() { s.running-- }()
		end, err := s.runElsewhere(o, onEvent)
		s.report.LogLine("second: %s %s %v", end.Outcome, end.Cause, err)
	})
}

func (s *SecondSluices) runElsewhere(o mode.Options, onEvent func(sluice.Envelope)) (engine.RunResult, error) {
	ctx := context.Background()
	a, err := s.env.openAccount(s.env.Clock, nil, nil)
	if err != nil {
		return engine.RunResult{}, err
	}
	j, err := journal.Open(journal.Memory, s.env.Clock)
	if err != nil {
		return engine.RunResult{}, err
	}
	defer j.Close()
	e := &engine.Engine{Journal: j, Account: a, Clock: s.env.Clock, Owner: "elsewhere/1",
		NewID:   func() string { return plan.IDPrefix + "second" },
		OnEvent: onEvent}
	app, err := s.env.Case.LoadApplication()
	if err != nil {
		return engine.RunResult{}, err
	}
	live, err := survey.ReadInputs(ctx, a, s.env.Clock, app)
	if err != nil {
		return engine.RunResult{}, err
	}
	p, err := mode.Make(app, live, o)
	if err != nil {
		return engine.RunResult{}, err
	}
	now, err := stage.JudgeCurrent(ctx, a, s.env.Clock, p, live)
	if err != nil {
		return engine.RunResult{}, err
	}
	if now != nil && now.Does == plan.DoesRestart {
		o.Restart = now.Detail
		if p, err = mode.Make(app, live, o); err != nil {
			return engine.RunResult{}, err
		}
	}
	if now != nil && !p.HasChanges() {
		var end engine.RunResult
		end.State, end.Outcome, end.Cause = journal.Ended, now.Outcome, now.Detail
		return end, nil
	}
	s.plans = append(s.plans, p)
	id, err := e.Start(ctx, p, engine.TriggerManual)
	if err != nil {
		return engine.RunResult{}, err
	}
	end, err := e.Run(ctx, id, engine.Options{})
	for n := 1; end.State != journal.Ended && n < maxTries; n++ {
		s.env.Sleep(pauseRetryDelay) // a person resumes it
		end, err = e.Run(ctx, id, engine.Options{})
	}
	s.deployedNew = s.deployedNew || end.Outcome == sluice.Succeeded && !s.env.Case.IsJob()
	s.finished = s.finished || end.Outcome == sluice.Succeeded || end.Outcome == sluice.RolledBack
	if k, err := plan.ParseClaim(s.env.serviceTags()[plan.ClaimTag]); err == nil && end.State != journal.Ended &&
		k.Deployment == id {
		s.unclaimed = k.Until
	}
	s.gaveUp = s.gaveUp || end.State == journal.Ended && !s.finished && s.env.serviceTags()[plan.ClaimTag] == ""
	return end, err
}

// haveLeft reports whether the second sluices left the service to the first: one gave it up, or its claim ran out.
func (s *SecondSluices) haveLeft() bool {
	return s.gaveUp || !s.unclaimed.IsZero() && !s.env.Clock.Now().Before(s.unclaimed)
}

// Exist reports whether a second sluice also runs; its writes are not checked here.
func (s *SecondSluices) Exist() bool { return len(s.plans) > 0 }

// countSets counts the task sets of a second sluice that claimed the service at the same
// moment, then lost the claim and reported it. AWS has no compare-and-set.
func (s *SecondSluices) countSets(service *world.Service) (n int) {
	for _, ts := range service.TaskSets {
		if !s.finished && strings.HasPrefix(ts.ExternalID, plan.IDPrefix+"second") {
			n++
		}
	}
	return n
}
