package stage

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/codedeploy"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// codeDeployRequest is the deployment that was requested from CodeDeploy. Its identity is the
// action ID, in its description. The ID is known once AWS has returned it or the deployment was
// found.
type shifted struct {
	Deployment string `json:"deployment,omitempty"`
	Turn       int    `json:"turn,omitempty"` // number of the rollback deployment, from 0
}

// deployByCodeDeploy deploys the new revision to a service with controller CODE_DEPLOY: its
// attributes first, then one CodeDeploy deployment, followed to its end.
func (r *Run) blueGreen(ctx context.Context) error {
	live, err := r.beginShift(ctx)
	if err != nil {
		return err
	}
	if live == nil || !r.former.Service {
		return r.firstService(ctx, live)
	}
	if err := r.shiftAttributes(ctx, live); err != nil {
		return err
	}
	if !r.Plan.CodeDeploy.Deploys {
		return r.awaitCount(ctx)
	}
	if r.Stage.Stop != "" {
		if done, err := r.stopOther(ctx); done || err != nil {
			return err
		}
	}
	rev, err := r.shiftRevision(ctx)
	if err != nil {
		return err
	}
	d, err := r.askCodeDeploy(ctx, live, rev)
	switch {
	case err != nil:
		return err
	case r.Leave && (d.Fresh || !r.endedWell(ctx, verdict.Wanted{Revision: rev.Name, Deployment: d.ID})):
		return r.leave(rev, d.ID)
	case r.Plan.CodeDeploy.Returns:
		return r.followReturn(ctx, rev.Name, d)
	}
	return r.followShift(ctx, rev.Name, d)
}

// beginCodeDeploy takes the snapshot, and claims the service if the stage writes to it itself. A
// CodeDeploy deployment needs no claim: a deployment group has one at a time.
func (r *Run) beginShift(ctx context.Context) (*ecs.Live, error) {
	live, err := r.standing(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.remember(ctx, live); err != nil {
		return nil, err
	}
	if live == nil && r.former.Service {
		return nil, r.deleted()
	}
	switch {
	case live == nil:
		return nil, nil
	case r.claims():
		return live, r.hold(ctx, live)
	}
	if r.claim.see(live.Tags, r.Deployment, r.Clock.Now()); r.claim.other != "" {
		return nil, r.taken()
	}
	return live, nil
}

// codeDeployRevision is the revision of this deployment. The first attempt registers it without
// another read: the plan has just read the family, and a second identical revision would do no
// harm.
func (r *Run) shiftRevision(ctx context.Context) (ecs.Revision, error) {
	_, begun, err := r.Host.Load(ctx, keyRegister)
	if err != nil {
		return ecs.Revision{}, fmt.Errorf("read what was saved as %s: %w", keyRegister, err)
	}
	if begun || r.Plan.Registered() {
		return r.revision(ctx)
	}
	if err := text(ctx, r.Host, keyRegister, "true"); err != nil {
		return ecs.Revision{}, err
	}
	rev, err := ecs.Register(ctx, r.Account.ECS(), r.act, r.task)
	switch {
	case errors.Is(err, sluice.ErrUnanswered):
		return r.revision(ctx) // it searches the revision first
	case err != nil:
		return rev, err
	}
	return rev, save(ctx, r.Host, KeyRevision, rev)
}

// listsClaimWrite reports whether the plan of the stage has the claim among its writes.
func (r *Run) claims() bool {
	return r.Stage.Lists(sluice.Write{Operation: "ecs:TagResource", Resource: r.hand.Resource()})
}

// createFirstService creates the service and waits until its first tasks are healthy. CodeDeploy
// cannot deploy to it yet, because there is no task set to replace.
func (r *Run) firstService(ctx context.Context, live *ecs.Live) error {
	rev, err := r.revision(ctx)
	if err != nil {
		return err
	}
	fresh := live == nil
	if fresh {
		id := sluice.NewActionID(r.Deployment, "service", "create")
		if err := r.hand.CreateRolling(ctx, r.act, id, *r.service.Input, rev, r.newClaim()); err != nil {
			return err
		}
		if live, err = r.observe(ctx); err != nil {
			return err
		}
	}
	if err := r.hold(ctx, live); err != nil {
		return err
	}
	first := live.Primary()
	if first == nil || first.Revision != rev.Name {
		return &sluice.Error{Op: "create the service", Resource: r.hand.Resource(), Kind: sluice.OutsideChange,
			Err: fmt.Errorf("somebody else deployed %s to it meanwhile", live.Serving()), Next: "deploy again: CodeDeploy brings the revision then"}
	}
	if r.Leave && (fresh || !r.endedWell(ctx, verdict.Wanted{Revision: rev.Name})) {
		return r.leave(rev, first.ID)
	}
	return r.awaitNew(ctx, member{TaskSet: *first, variant: sluice.Primary, label: "task set of primary", of: r.hand}, 0)
}

// updateAttributes changes the fields that UpdateService can change under CODE_DEPLOY, and the
// file's tags, as far as the plan lists them.
func (r *Run) shiftAttributes(ctx context.Context, live *ecs.Live) error {
	u, tags := ecs.Differing(r.service, live), ecs.DifferingTags(r.service, live)
	if len(u.Members) > 0 && r.Stage.Lists(sluice.Write{Operation: "ecs:UpdateService", Resource: r.hand.Resource()}) {
		if err := r.hand.Update(ctx, r.act, "update service", u); err != nil {
			return err
		}
		r.note("updated the service: %s", strings.Join(u.Members, ", "))
	}
	if len(tags) == 0 || !r.claims() {
		return nil
	}
	return r.hand.Tag(ctx, r.act, "tag service", live.ARN, tags)
}

// requestCodeDeploy creates the deployment, unless an earlier attempt did.
func (r *Run) askCodeDeploy(ctx context.Context, live *ecs.Live, rev ecs.Revision) (made, error) {
	spec, err := definition.NewAppSpec(r.service.Input, live.ARNOf(rev), r.Plan.CodeDeploy.Hooks)
	if err != nil {
		return made{}, err
	}
	c := r.Plan.CodeDeploy
	s := codedeploy.Start{Config: c.Config, AppSpec: spec, By: r.shiftID(), Rollback: c.RollbackEvents}
	if c.Returns {
		s.Rollback, s.NoAlarms = []string{}, true
	}
	return r.ensureShift(ctx, keyShift, s)
}

// ensureCodeDeploy creates a deployment once. It saves before the call that the call is about to be
// sent, and after it the ID.
func (r *Run) ensureShift(ctx context.Context, key string, s codedeploy.Start) (made, error) {
	was, begun, err := saved[shifted](ctx, r.Host, key)
	if err != nil || was.Deployment != "" {
		return made{ID: was.Deployment}, err
	}
	id, found := "", false
	if begun { // the request of a killed process must be visible by now
		id, err = r.findShift(ctx, s.By)
		found = id != ""
	} else {
		err = save(ctx, r.Host, key, was)
	}
	if err != nil {
		return made{}, err
	}
	if s.Sure = true; !found {
		s.Group = r.group()
		if id, found, err = r.deployer().Ensure(ctx, r.act, s); err != nil {
			return made{}, err
		}
	}
	if found {
		r.Host.Emit(sluice.Adopted{Action: s.By, Resource: id})
	}
	r.note("CodeDeploy deployment %s: %s", id, codedeploy.ConsoleURL(r.Plan.Region, id))
	was.Deployment = id
	return made{ID: id, Fresh: !found}, save(ctx, r.Host, key, was)
}

func (r *Run) group() codedeploy.Group {
	return codedeploy.Group{Application: r.Plan.CodeDeploy.Application, Name: r.Plan.CodeDeploy.Group}
}

func (r *Run) deployer() codedeploy.Hand {
	return codedeploy.Hand{API: r.Account.CodeDeploy(), Confirm: r.secondLook}
}

// The action IDs of the requested CodeDeploy deployments: one forward, one back. If the one back
// fails, another one follows.

func (r *Run) shiftID() sluice.ActionID {
	return sluice.NewActionID(r.Deployment, "codedeploy", "deployment")
}

func (r *Run) returnID(turn int) sluice.ActionID {
	what := "deployment"
	if turn > 0 {
		what += fmt.Sprintf(" %d", turn+1)
	}
	return sluice.NewActionID(r.Deployment, "rollback", what)
}
