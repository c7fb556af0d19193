package stage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/begin"
	"github.com/sluice-ecs/sluice/internal/stage/claim"
	"github.com/sluice-ecs/sluice/internal/stage/gates"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
	"github.com/sluice-ecs/sluice/internal/stage/revision"
	"github.com/sluice-ecs/sluice/internal/stage/scaling"
	"github.com/sluice-ecs/sluice/internal/stage/step"
	"github.com/sluice-ecs/sluice/internal/view"
	"github.com/sluice-ecs/sluice/internal/watch"
)

// Ending is how a deployment ended.
type Ending struct {
	Outcome sluice.Outcome
	Cause   string // why Outcome is not the outcome of the stages, or what callers get besides; empty if it is
	Next    string // what a person should do about Cause; empty: what follows from the stages
	// NoFormer: a rollback ended, but restored no version that works: none served before the deployment, or the one
	// that did does not work. So it failed.
	NoFormer bool
	Created  bool   // with NoFormer: the deployment created the service, which exists
	ClaimErr error  // why the claim on the service was not released; nil if it was, or if there is none
	note     string // what callers of test rules lost; it is added to Cause
	// Unstable is the failure of a success whose tasks died again and again while its end waited for callers. The
	// deployment has not ended then, and keeps its claim: a rollback follows. nil: the deployment has ended.
	Unstable error
}

// finishDeployment does what [Run.Finish] says.
func finishDeployment(ctx context.Context, s *step.Step, o sluice.Outcome) (Ending, error) {
	ctx = s.WithRetries(ctx)
	s.Reads.EndPoll() // what the last stage read does not confirm the outcome
	end := Ending{Outcome: o}
	if o == sluice.Succeeded {
		if err := tryDeregisterOld(ctx, s); err != nil {
			return end, err
		}
	}
	if err := scaling.Return(ctx, s); err != nil {
		return end, err
	}
	end, waited, err := confirmAndRelease(ctx, s, o)
	if waited && err == nil {
		s.Confirmed = nil // others may have changed or deleted what was read before the wait
		s.Reads.EndPoll()
		end, _, err = confirmAndRelease(ctx, s, o)
	}
	return end, err
}

// confirmAndRelease confirms the outcome and releases the claim. waited: the claim was not there, and it was waited for
// after what the outcome relies on was read.
func confirmAndRelease(ctx context.Context, s *step.Step, o sluice.Outcome) (end Ending, waited bool, err error) {
	began := s.Clock.Now()
	if end, err = confirmOutcome(ctx, s, o); err != nil {
		return end, false, err
	}
	if end.Unstable != nil && s.Plan.AutoRollback && !s.CannotResume {
		return end, false, nil
	}
	end.Unstable = nil
	if end.Outcome == sluice.Gone || s.Clock.Now().Sub(began) >= watch.LongestRead {
		s.Confirmed = nil // others may have deleted the service since it was read, or taken the claim
	}
	var drop []string
	if end.Outcome == sluice.Succeeded {
		drop = s.Plan.DropTags
	}
	began = s.Clock.Now()
	released, err := claim.Release(ctx, s, end.Outcome == sluice.Superseded, drop...)
	if end.ClaimErr = err; !s.CannotResume && (errors.Is(err, memory.ErrNotSaved) || hasNoAnswer(err)) {
		return end, false, err
	}
	return end, err == nil && !released && s.Clock.Now().Sub(began) >= watch.LongestRead, nil
}

// tryDeregisterOld calls DeregisterOld. A failure is reported as a warning and does not change the
// outcome, unless AWS did not answer.
func tryDeregisterOld(ctx context.Context, s *step.Step) error {
	err := revision.DeregisterOld(ctx, s)
	switch kind := sluice.KindOf(err); {
	case err == nil:
		return nil
	case !s.CannotResume && (kind == sluice.Unreachable || kind == sluice.Throttled):
		return err
	}
	s.EmitWarning("old task definitions are not deregistered: %v", err)
	return nil
}

// confirmOutcome replaces the outcome if the revision that it names does not serve. An error means
// that the outcome is unknown; a host that cannot resume the deployment gets a warning instead.
func confirmOutcome(ctx context.Context, s *step.Step, o sluice.Outcome) (Ending, error) {
	if o == sluice.Failed || o == sluice.Stalled || o == sluice.TimedOut {
		return addBrokenFormer(ctx, s, confirmServiceExists(ctx, s, o)), nil
	}
	if o == sluice.RolledBack {
		former, err := findFormer(ctx, s)
		if err != nil || !former.version {
			return endWithoutFormer(ctx, s, former), err
		}
	}
	err := confirmServing(ctx, s, o)
	if err == nil && o == sluice.RolledBack && s.Confirmed == nil {
		s.Confirmed, err = readUnchanged(ctx, s)
	}
	if err == nil && o == sluice.RolledBack {
		var broken Ending
		if broken, err = endOfBrokenFormer(ctx, s, true); broken.NoFormer {
			return broken, nil
		}
	}
	if end, lost := endingOfLost(err); lost {
		return end, nil
	}
	if err != nil && s.CannotResume {
		s.EmitWarning("the outcome was not confirmed: %v", err)
		return Ending{Outcome: o}, nil
	}
	end := Ending{Outcome: o}
	switch {
	case err != nil || o != sluice.Succeeded && o != sluice.RolledBack:
	case s.Confirmed == nil && s.Plan.Callers.IsUnused(): // nothing was changed, so nothing was read again
		end.Cause = view.NoRequests
	case s.Confirmed != nil:
		if end, err = confirmCallers(ctx, s, o, s.Confirmed); err != nil && s.CannotResume {
			s.EmitWarning("it was not confirmed that callers reach the service: %v", err)
			end, err = Ending{Outcome: o}, nil
		}
	}
	if err != nil || end.Outcome != sluice.Succeeded {
		return end.withNote(), err
	}
	to, err := begin.RegisteredName(ctx, s)
	end.Cause = cmp.Or(s.Plan.SuccessCause(to, endTasks(s, to)), end.Cause)
	if err != nil {
		return end, err
	}
	count, err := countChange(ctx, s)
	if err != nil {
		return end, err
	}
	undecided, err := gates.PassedUndecided(ctx, s)
	for _, text := range []string{count, undecided, s.Plan.AloneText()} {
		end.Cause = strings.Trim(end.Cause+"; "+text, "; ")
	}
	return end.withNote(), err
}

// withNote returns the end with its note added to the cause.
func (e Ending) withNote() Ending {
	e.Cause, e.note = strings.Trim(e.Cause+"; "+e.note, "; "), ""
	return e
}

// countChange says that another process or person, or auto scaling, set the desired count while ECS rolled the service;
// empty: none did. Stages with a canary compare the count themselves.
func countChange(ctx context.Context, s *step.Step) (string, error) {
	if s.Confirmed == nil || s.Service == nil || s.Plan.Mode().HasVariants() {
		return "", nil
	}
	former, found, err := s.Memory.Snapshot.Find(ctx)
	if err != nil || !found || !former.Service {
		return "", err
	}
	want := former.Desired
	if n := step.FileCount(s); n != nil {
		want = *n
	}
	if want == s.Confirmed.Desired {
		return "", nil
	}
	return fmt.Sprintf("desired count changed from %d to %d by others", want, s.Confirmed.Desired), nil
}

// endTasks counts the tasks at the end of a deployment of the revision to. What no read shows is as planned.
func endTasks(s *step.Step, to string) plan.EndTasks {
	t := s.Plan.ExpectedTasks()
	if s.Confirmed == nil || len(s.Confirmed.TaskSets) == 0 {
		return t
	}
	t = plan.EndTasks{}
	for _, set := range s.Confirmed.TaskSets {
		switch {
		case set.Status == "DRAINING":
		case set.Revision == s.Plan.From:
			t.Former += set.Running
		case set.Status == "PRIMARY":
			t.New += set.Running
		default:
			t.Canary += set.Running
		}
	}
	return t
}

// formerState is what existed before the deployment. A deployment that is not about versions has a version.
type formerState struct{ service, version bool }

func findFormer(ctx context.Context, s *step.Step) (formerState, error) {
	if !isAboutVersions(s) {
		return formerState{service: true, version: true}, nil
	}
	former, saved, err := s.Memory.Snapshot.Find(ctx)
	if saved {
		return formerState{former.Service, former.Revision != ""}, err
	}
	return formerState{!s.Plan.CreatesService(), s.Plan.From != ""}, err
}

// endWithoutFormer returns the end of the rollback of a service's first version.
func endWithoutFormer(ctx context.Context, s *step.Step, former formerState) Ending {
	end := confirmServiceExists(ctx, s, sluice.Failed)
	if end.Outcome != sluice.Failed {
		return end
	}
	why := "no version served before, so none is restored"
	if s.Confirmed != nil && s.Confirmed.Serving() != "" {
		why += ": " + s.Confirmed.Serving() + " stays"
	}
	return Ending{Outcome: sluice.Failed, Cause: strings.TrimSuffix(why+"; "+end.Cause, "; "), NoFormer: true,
		Created: s.Confirmed != nil && !former.service}
}

// endingOfLost returns the end of a deployment whose service another actor took or deleted. lost is false for other
// errors.
func endingOfLost(err error) (end Ending, lost bool) {
	switch sluice.KindOf(err) {
	case sluice.Overtaken:
		return Ending{Outcome: sluice.Superseded, Cause: err.Error()}, true
	case sluice.NotFound:
		return Ending{Outcome: sluice.Gone, Cause: err.Error()}, true
	}
	return Ending{}, false
}

// readUnchanged reads the service of a deployment that changed nothing: others may have changed the
// rules, or deleted it. It is nil if the deployment was to create it, or has none.
func readUnchanged(ctx context.Context, s *step.Step) (*ecs.ServiceState, error) {
	switch {
	case !s.Plan.Mode().HasService():
		return nil, nil
	case s.Plan.CreatesService():
		return s.Client.Observe(ctx)
	}
	return readActive(ctx, s)
}

// confirmServiceExists replaces the outcome of a failure by [sluice.Gone] if the service is deleted: neither
// a rollback nor a resume can restore a version then. A read without an answer changes nothing.
func confirmServiceExists(ctx context.Context, s *step.Step, o sluice.Outcome) Ending {
	claim, err := s.Memory.Claim.Load(ctx)
	if err != nil || !s.Plan.Mode().HasService() || s.Plan.CreatesService() && !claim.Claimed {
		return Ending{Outcome: o} // the service was not created
	}
	live, err := s.Client.Observe(ctx)
	switch {
	case err != nil:
		return Ending{Outcome: o}
	case live == nil || live.Status != "ACTIVE":
		return Ending{Outcome: sluice.Gone, Cause: step.ErrServiceDeleted(s).Error()}
	}
	s.Confirmed = live
	if live.Desired == 0 {
		if end, err := endWithoutTasks(ctx, s, Ending{Outcome: o}); err == nil && end.Outcome == sluice.Gone {
			return end
		}
	}
	return explainCallers(ctx, s, live, Ending{Outcome: o})
}

// hasNoAnswer reports whether a call was given up because AWS did not answer.
func hasNoAnswer(err error) bool {
	kind := sluice.KindOf(err)
	return kind == sluice.Unreachable || kind == sluice.Throttled || kind == sluice.Halted
}
