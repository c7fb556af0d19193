package stage

import (
	"cmp"
	"context"
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/route/alb"
	"github.com/sluice-ecs/sluice/internal/stage/step"
	"github.com/sluice-ecs/sluice/internal/view"
)

// confirmCallers reads whether callers get the version of an outcome. If they do not, the outcome is
// [sluice.Failed]: the tasks are as the outcome says, and a rule of the load balancer is not. A rollback would not
// change that rule, so none follows. live is the last read of the service.
func confirmCallers(ctx context.Context, s *step.Step, o sluice.Outcome, live *ecs.ServiceState) (Ending, error) {
	end := Ending{Outcome: o}
	if live == nil {
		return end, nil
	}
	if live.Desired == 0 {
		return endWithoutTasks(ctx, s, end)
	}
	lacked := false
	began := s.Clock.Now()
	for {
		t, problems, err := readCallers(ctx, s, live)
		wrong, lacks := cmp.Or(view.Texts(problems), t.MostlyUnhealthy()), missingTasks(o, t, live)
		late := s.Clock.Now().Sub(began) >= view.ConfirmGrace
		if lacks == "" && lacked && t.HasNodes() && !late { // no read shows what its nodes know
			lacks = "each node of the Network Load Balancer follows within a minute"
		}
		lacked = lacked || lacks != ""
		switch {
		case sluice.KindOf(err) == sluice.Denied:
			return end, nil // plans for policies of earlier versions do not need the reads
		case err != nil:
			return end, err
		case wrong == "" && t.IsUnused():
			end.Cause = view.NoRequests
			return end, nil
		case wrong == "" && (lacks == "" || late):
			end.Cause = lacks
			return end, nil
		case len(problems) > 0 && s.Plan.OnUnhealthyRoute == sluice.AllowRoute && s.Plan.Callers.Had(problems):
			end.Cause = "callers did not reach the service before, and do not now: " + view.Texts(problems)
			return end, nil
		case late && len(problems) == 0:
			end.Outcome, end.Cause = sluice.Failed, outcomeText(o, live)+", but "+wrong
			return end, nil
		case late:
			end.Outcome, end.Next = sluice.Failed, problems[0].Next()
			end.Cause = outcomeText(o, live) + ", but callers do not get it: " + wrong
			return end, nil
		}
		if s.IsFirstTime("callers do not reach the service") {
			s.Host.Emit(sluice.Waiting{For: "callers to reach " + live.Serving(), Detail: cmp.Or(wrong, lacks)})
		}
		if err := s.PauseFor(ctx, view.ConfirmInterval); err != nil {
			return end, err
		}
		if live, err = readLater(ctx, s, live); err != nil {
			return end, err
		}
	}
}

// missingTasks returns what a restored version still lacks, for users; empty: nothing. Nobody watched its tasks during
// the deployment, so some may just have ended: ECS replaces them, and until then their targets get requests.
func missingTasks(o sluice.Outcome, t view.Traffic, live *ecs.ServiceState) string {
	switch {
	case o != sluice.RolledBack:
		return ""
	case live.Running < live.Desired:
		return fmt.Sprintf("%d of %d tasks run", live.Running, live.Desired)
	case t.MostTargets() > live.Running:
		return fmt.Sprintf("%d targets get requests, and %d tasks run: the others ended", t.MostTargets(), live.Running)
	}
	return ""
}

// readLater reads the service again: an old answer may name the target group of a former PRIMARY task set. It returns
// live if another revision serves now, because the outcome was confirmed before that.
func readLater(ctx context.Context, s *step.Step, live *ecs.ServiceState) (*ecs.ServiceState, error) {
	later, err := readActive(ctx, s)
	if err != nil || later.Serving() != live.Serving() {
		return live, err
	}
	return later, nil
}

// endWithoutTasks returns the end of a deployment of a service without tasks. If it had tasks before, and the files do
// not ask for none, another actor set its desired count to 0, and no caller gets a version.
func endWithoutTasks(ctx context.Context, s *step.Step, end Ending) (Ending, error) {
	former, found, err := s.Memory.Snapshot.Find(ctx)
	if err != nil || !found || former.Desired == 0 || s.Plan.Idle {
		return end, err
	}
	end.Outcome = sluice.Gone
	end.Cause = "the desired count of the service is 0: another process or person removed its tasks during the deployment"
	return end, nil
}

func outcomeText(o sluice.Outcome, live *ecs.ServiceState) string {
	if o == sluice.RolledBack {
		return live.Serving() + " runs again"
	}
	return live.Serving() + " runs"
}

// readCallers reads the rules and targets of the service, and why callers do not get the PRIMARY version.
func readCallers(ctx context.Context, s *step.Step, live *ecs.ServiceState) (view.Traffic, []view.Problem, error) {
	scope := s.Plan.Scope.With(live.TrafficScope())
	t, err := alb.ReadTraffic(ctx, s.Account.ELB(), s.Clock, scope, s.Plan.Callers)
	if err != nil {
		return t, nil, err
	}
	return t, t.Problems(s.Plan.Callers, live.ServingGroups()...), nil
}

// explainCallers adds to the end of a failure what others did to the rules by which callers reached the service. It
// adds nothing if they are as before, or if they cannot be read.
func explainCallers(ctx context.Context, s *step.Step, end Ending) Ending {
	if !s.Plan.Callers.ReceivesRequests() {
		return end
	}
	t, err := alb.ReadTraffic(ctx, s.Account.ELB(), s.Clock, s.Plan.Scope, s.Plan.Callers)
	if err != nil {
		return end
	}
	if lost := t.LostSince(s.Plan.Callers); len(lost) > 0 {
		end.Cause, end.Next = view.Texts(lost), lost[0].Next()
	}
	return end
}
