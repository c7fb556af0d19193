package stage

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/route/cloudmap"
	"github.com/sluice-ecs/sluice/internal/stage/rolling"
	"github.com/sluice-ecs/sluice/internal/stage/step"
	"github.com/sluice-ecs/sluice/internal/view"
	"github.com/sluice-ecs/sluice/internal/watch"
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
	c, err := confirmation(ctx, s, o, live)
	if err != nil {
		return end, err
	}
	began := s.Clock.Now()
	var last ecs.ServiceRead // after callers were waited for, or after an outage
	readAgain := func() (ended Ending, ends bool, err error) {
		last.SentAt = s.Clock.Now()
		last.State, err = readActive(ctx, s)
		if gone, lost := endingOfLost(err); lost {
			return gone, true, nil
		}
		if err == nil {
			live = live.Refreshed(last.State)
		}
		return end, err != nil, err
	}
	if s.IsContinued {
		if ended, ends, err := readAgain(); ends {
			return ended, err
		}
	}
	for {
		sent := s.Clock.Now()
		t, problems, unknown, err := readCallers(ctx, s, live)
		switch {
		case errors.Is(err, sluice.ErrNoPermission):
			return end, nil // plans for policies of earlier versions do not need the reads
		case err != nil:
			return end, err
		case s.Clock.Now().Sub(sent) >= watch.LongestRead:
			if ended, ends, err := readAgain(); ends {
				return ended, err
			}
		}
		c.Says = outcomeText(o, live)
		d := c.Decide(t, problems, view.Tasks{Running: live.Running, Desired: live.Desired}, s.Clock.Now().Sub(began))
		if d.Wait == "" {
			if end.Cause, end.Next, end.note = d.Cause, d.Next, d.Note; d.Failed {
				end.Outcome = sluice.Failed
			} else if of := otherVersions(s, live, t); of != "" {
				end.Cause = strings.TrimPrefix(end.Cause+"; "+of, "; ")
			}
			if end.Cause == "" && len(unknown) > 0 {
				end.Cause = strings.Join(unknown, "; ")
				end.Next = cmp.Or(end.Next, "see what callers resolve: "+t.Name.Command)
			}
			if !d.Failed && last.State != nil {
				return confirmStable(ctx, s, end, live.Serving(), last)
			}
			return end, nil
		}
		if s.IsFirstTime("callers do not reach the service") {
			s.Host.Emit(watch.WaitingForCallers(live.Serving(), d.Wait))
		}
		if err := s.PauseFor(ctx, view.ConfirmInterval); err != nil {
			return end, err
		}
		if ended, ends, err := readAgain(); ends {
			return ended, err
		}
	}
}

// confirmStable replaces an outcome that another actor ended while callers were waited for, and a success over tasks
// that failed meanwhile, if they fail again. last is the last read.
func confirmStable(ctx context.Context, s *step.Step, end Ending, revision string, last ecs.ServiceRead) (Ending,
	error) {
	if end.Outcome == sluice.RolledBack && last.State.Serving() == revision {
		return end, nil
	}
	unstable, err := rolling.JudgeStable(ctx, s, revision, last)
	switch {
	case errors.Is(err, sluice.ErrNoPermission):
		return end, nil
	case err != nil || unstable == nil:
		return end, err
	}
	if taken, lost := endingOfLost(unstable); lost { // a rollback would undo what the other actor did
		return taken, nil
	}
	failed := Ending{Outcome: sluice.Failed, Cause: unstable.Error(), Next: "restore the former version: sluice rollback"}
	if end.Outcome == sluice.Succeeded {
		failed.Unstable = unstable
	}
	return failed, nil
}

// confirmation returns what decides about an outcome.
func confirmation(ctx context.Context, s *step.Step, o sluice.Outcome, live *ecs.ServiceState) (
	view.Confirmation, error) {
	former, _, err := s.Memory.Snapshot.Find(ctx)
	return view.Confirmation{Before: s.Plan.Callers, AllowsBefore: s.Plan.OnUnhealthyRoute == sluice.AllowRoute,
		IsBegun: true, IsRollback: o == sluice.RolledBack, Others: max(s.Plan.Callers.MostTargets()-former.Desired, 0)}, err
}

// endWithoutTasks returns the end of a deployment of a service without tasks. If it had tasks before, and the files do
// not ask for none, another actor set its desired count to 0, and no caller gets a version.
func endWithoutTasks(ctx context.Context, s *step.Step, end Ending) (Ending, error) {
	former, found, err := s.Memory.Snapshot.Find(ctx)
	if err != nil || !found || former.Desired == 0 || s.Plan.Idle {
		return end, err
	}
	end.Outcome, end.Next = sluice.Gone, step.RaiseCount(former.Desired)
	end.Cause = "the desired count of the service is 0: another process or person removed its tasks during the deployment"
	return end, nil
}

func outcomeText(o sluice.Outcome, live *ecs.ServiceState) string {
	if o == sluice.RolledBack {
		return live.Serving() + " runs again"
	}
	return live.Serving() + " runs"
}

// readCallers reads the rules and targets of the service, and why callers do not get the PRIMARY version. unknown says
// which instances of its Cloud Map name others registered: sluice keeps them, and they get requests.
func readCallers(ctx context.Context, s *step.Step, live *ecs.ServiceState) (t view.Traffic, problems []view.Problem,
	unknown []string, err error) {
	t, err = s.ReadTraffic(ctx, live)
	if err == nil {
		t.Name, unknown, err = readNameOf(ctx, s, live)
	}
	if err != nil {
		return t, nil, nil, err
	}
	serving := live.ServingGroups()
	if s.Plan.KeepsCanary() {
		serving = nil // another version may get requests, as before
	}
	return t, t.Problems(s.Plan.Callers, serving...), unknown, nil
}

// otherVersions says which rules send requests to another version than the PRIMARY one, as a deployment that changes no
// version leaves them; empty: none does.
func otherVersions(s *step.Step, live *ecs.ServiceState, t view.Traffic) string {
	if !s.Plan.KeepsCanary() {
		return ""
	}
	kept := t.Problems(s.Plan.Callers, live.ServingGroups()...)
	if len(kept) == 0 {
		return ""
	}
	return view.Describe("the rules stay as they are", kept)
}

// readNameOf reads what callers of the Cloud Map name of the service get; nil: it has none. Plans for policies of
// earlier versions do not need the reads: without the permission a note says that the name was not checked.
func readNameOf(ctx context.Context, s *step.Step, live *ecs.ServiceState) (*view.Name, []string, error) {
	var arn string
	if all := live.RegistryARNs(); len(all) > 0 {
		arn = all[0] // ECS accepts one
	}
	r, known := s.Plan.FindRegistry(arn)
	if arn == "" && !known {
		return nil, nil, nil
	}
	var err error
	if !known {
		r, err = cloudmap.FindRegistry(ctx, s.Account.CloudMap(), arn, 0)
	}
	var n *view.Name
	var unknown []string
	if err == nil {
		n, unknown, err = readName(ctx, s, r, live.Serving())
	}
	if s.Plan.Registry == nil && errors.Is(err, sluice.ErrNoPermission) {
		if s.IsFirstTime("the name is not read") {
			s.EmitNote("%s: %v", view.NameUnread, sluice.Inner(err))
		}
		return nil, nil, nil
	}
	if missing := cloudmap.MissingName(cmp.Or(arn, r.ARN), err); missing != nil {
		return missing, nil, nil
	}
	return n, unknown, err
}

// readName reads what callers of the Cloud Map name get, and describes the instances of others.
func readName(ctx context.Context, s *step.Step, r plan.Registry, revision string) (*view.Name, []string, error) {
	runs, err := s.Client.RunsRevision(ctx, revision)
	if err != nil {
		return nil, nil, err
	}
	n, unknown, err := cloudmap.ReadName(ctx, cloudmap.InstanceClient{API: s.Account.CloudMap(), Registry: r,
		Confirm: s.AwaitSecondRead}, runs, s.Client.StoppedTasks)
	if n != nil {
		n.Register = view.RegisterAgain
	}
	for i, id := range unknown {
		unknown[i] = cloudmap.DescribeUnknown(id, r.FullName())
	}
	return n, unknown, err
}

// explainCallers adds to the end of a failure what others did to the rules by which callers reached the service. It
// adds nothing if they are as before, or if they cannot be read.
func explainCallers(ctx context.Context, s *step.Step, live *ecs.ServiceState, end Ending) Ending {
	if !s.Plan.Callers.ReceivesRequests() {
		return end
	}
	t, err := s.ReadTraffic(ctx, live)
	if err != nil {
		return end
	}
	if lost := t.LostSince(s.Plan.Callers); len(lost) > 0 {
		end.Cause, end.Next = view.Texts(lost), lost[0].Next()
	}
	var next string
	end.note, next = t.UnansweredTests(s.Plan.Callers)
	end.Next = cmp.Or(end.Next, next)
	return end.withNote()
}
