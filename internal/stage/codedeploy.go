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
	"github.com/sluice-ecs/sluice/internal/stage/memory"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// deployByCodeDeploy deploys the new revision to a service with controller CODE_DEPLOY: its
// attributes first, then one CodeDeploy deployment, followed to its end.
func (r *Run) deployByCodeDeploy(ctx context.Context) error {
	live, err := r.beginCodeDeploy(ctx)
	if err != nil {
		return err
	}
	if live == nil || !r.snapshot.Service {
		return r.createFirstService(ctx, live)
	}
	if err := r.updateAttributes(ctx, live); err != nil {
		return err
	}
	if !r.Plan.CodeDeploy.Deploys {
		return r.awaitCount(ctx)
	}
	if r.Stage.Stop != "" {
		if done, err := r.stopOtherCodeDeploy(ctx); done || err != nil {
			return err
		}
	}
	rev, err := r.codeDeployRevision(ctx)
	if err != nil {
		return err
	}
	d, err := r.requestCodeDeploy(ctx, live, rev)
	switch {
	case err != nil:
		return err
	case r.HandOver &&
		(d.JustCreated || !r.handedOverSucceeded(ctx, verdict.Wanted{Revision: rev.Name, Deployment: d.ID})):
		return r.handOver(rev, d.ID)
	case r.Plan.CodeDeploy.Returns:
		return r.followReturn(ctx, rev.Name, d)
	}
	return r.followCodeDeploy(ctx, rev.Name, d)
}

// beginCodeDeploy takes the snapshot, and claims the service if the stage writes to it itself. A
// CodeDeploy deployment needs no claim: a deployment group has one at a time.
func (r *Run) beginCodeDeploy(ctx context.Context) (*ecs.ServiceState, error) {
	live, err := r.findActiveService(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.loadSnapshot(ctx, live); err != nil {
		return nil, err
	}
	if live == nil && r.snapshot.Service {
		return nil, r.errServiceDeleted()
	}
	switch {
	case live == nil:
		return nil, nil
	case r.listsClaimWrite():
		return live, r.claimAndSuspend(ctx, live)
	}
	if r.claim.readTags(live.Tags, r.Deployment, r.Clock.Now()); r.claim.otherValue != "" {
		return nil, r.errClaimTaken()
	}
	return live, nil
}

// codeDeployRevision is the revision of this deployment. The first attempt registers it without
// another read: the plan has just read the family, and a second identical revision would do no
// harm.
func (r *Run) codeDeployRevision(ctx context.Context) (ecs.Revision, error) {
	saved, err := r.memory.Registration.Load(ctx)
	if err != nil {
		return ecs.Revision{}, err
	}
	if saved.Begun || r.Plan.IsRegistered() {
		return r.ensureRevision(ctx)
	}
	saved.Begun = true
	if err := r.memory.Registration.Save(ctx, saved); err != nil {
		return ecs.Revision{}, err
	}
	rev, err := ecs.Register(ctx, r.Account.ECS(), r.makeWrite, r.task)
	switch {
	case errors.Is(err, sluice.ErrUnanswered):
		return r.ensureRevision(ctx) // it searches the revision first
	case err != nil:
		return rev, err
	}
	saved.Revision = &rev
	return rev, r.memory.Registration.Save(ctx, saved)
}

// listsClaimWrite reports whether the plan of the stage has the claim among its writes.
func (r *Run) listsClaimWrite() bool {
	return r.Stage.MayWrite(sluice.Write{Operation: "ecs:TagResource", Resource: r.client.Resource()})
}

// createFirstService creates the service and waits until its first tasks are healthy. CodeDeploy
// cannot deploy to it yet, because there is no task set to replace.
func (r *Run) createFirstService(ctx context.Context, live *ecs.ServiceState) error {
	rev, err := r.ensureRevision(ctx)
	if err != nil {
		return err
	}
	fresh := live == nil
	if fresh {
		id := sluice.NewActionID(r.Deployment, "service", "create")
		if err := r.client.CreateRolling(ctx, r.makeWrite, id, *r.service.Input, rev, r.newClaimTags()); err != nil {
			return err
		}
		if live, err = r.observeService(ctx); err != nil {
			return err
		}
	}
	if err := r.claimAndSuspend(ctx, live); err != nil {
		return err
	}
	first := live.Primary()
	if first == nil || first.Revision != rev.Name {
		return &sluice.Error{Op: "create the service", Resource: r.client.Resource(), Kind: sluice.OutsideChange,
			Err:  fmt.Errorf("another process or person deployed %s to the service", live.Serving()),
			Next: "deploy again; CodeDeploy then deploys the revision"}
	}
	if r.HandOver && (fresh || !r.handedOverSucceeded(ctx, verdict.Wanted{Revision: rev.Name})) {
		return r.handOver(rev, first.ID)
	}
	return r.awaitNewTasks(ctx, member{TaskSet: *first, variant: sluice.Primary, label: "task set of primary",
		service: r.client}, 0)
}

// updateAttributes changes the fields that UpdateService can change under CODE_DEPLOY, and the
// file's tags, as far as the plan lists them.
func (r *Run) updateAttributes(ctx context.Context, live *ecs.ServiceState) error {
	u, tags := ecs.DifferingUpdate(r.service, live), ecs.DifferingTags(r.service, live)
	if len(u.Members) > 0 &&
		r.Stage.MayWrite(sluice.Write{Operation: "ecs:UpdateService", Resource: r.client.Resource()}) {
		if err := r.client.Update(ctx, r.makeWrite, "update service", u); err != nil {
			return err
		}
		r.emitNote("updated the service: %s", strings.Join(u.Members, ", "))
	}
	if len(tags) == 0 || !r.listsClaimWrite() {
		return nil
	}
	return r.client.Tag(ctx, r.makeWrite, "tag service", live.ARN, tags)
}

// requestCodeDeploy creates the deployment, unless an earlier attempt did.
func (r *Run) requestCodeDeploy(ctx context.Context, live *ecs.ServiceState, rev ecs.Revision) (createdDeployment,
	error) {
	spec, err := definition.NewAppSpec(r.service.Input, live.ARNOf(rev), r.Plan.CodeDeploy.Hooks)
	if err != nil {
		return createdDeployment{}, err
	}
	c := r.Plan.CodeDeploy
	s := codedeploy.StartRequest{Config: c.Config, AppSpec: spec, By: r.codeDeployID(), Rollback: c.RollbackEvents}
	if c.Returns {
		s.Rollback, s.NoAlarms = []string{}, true
	}
	return r.ensureCodeDeploy(ctx, forwardRequest, s)
}

// requestOf chooses one of the requests that are saved.
type requestOf func(*memory.CodeDeploy) **memory.CodeDeployRequest

func forwardRequest(c *memory.CodeDeploy) **memory.CodeDeployRequest { return &c.Forward }

func returnRequest(c *memory.CodeDeploy) **memory.CodeDeployRequest { return &c.Return }

// ensureCodeDeploy creates a deployment once. It saves before the call that the call is about to be
// sent, and after it the ID.
func (r *Run) ensureCodeDeploy(ctx context.Context, of requestOf, s codedeploy.StartRequest) (createdDeployment,
	error) {
	saved, err := r.memory.CodeDeploy.Load(ctx)
	if err != nil {
		return createdDeployment{}, err
	}
	was, begun := *of(&saved), *of(&saved) != nil
	if was == nil {
		was = &memory.CodeDeployRequest{}
		*of(&saved) = was
	}
	if was.Deployment != "" {
		return createdDeployment{ID: was.Deployment}, nil
	}
	id, found := "", false
	if begun { // the request of a killed process must be visible by now
		id, err = r.findCodeDeployID(ctx, s.By)
		found = id != ""
	} else {
		err = r.memory.CodeDeploy.Save(ctx, saved)
	}
	if err != nil {
		return createdDeployment{}, err
	}
	if s.NeverTried = true; !found {
		s.Group = r.deploymentGroup()
		if id, found, err = r.codeDeployClient().EnsureDeployment(ctx, r.makeWrite, s); err != nil {
			return createdDeployment{}, err
		}
	}
	if found {
		r.Host.Emit(sluice.Adopted{Action: s.By, Resource: id})
	}
	r.emitNote("CodeDeploy deployment %s: %s", id, codedeploy.ConsoleURL(r.Plan.Region, id))
	was.Deployment = id
	return createdDeployment{ID: id, JustCreated: !found}, r.memory.CodeDeploy.Save(ctx, saved)
}

func (r *Run) deploymentGroup() codedeploy.Group {
	return codedeploy.Group{Application: r.Plan.CodeDeploy.Application, Name: r.Plan.CodeDeploy.Group}
}

func (r *Run) codeDeployClient() codedeploy.Client {
	return codedeploy.Client{API: r.Account.CodeDeploy(), Confirm: r.awaitSecondRead}
}

// The action IDs of the requested CodeDeploy deployments: one forward, one back. If the one back
// fails, another one follows.

func (r *Run) codeDeployID() sluice.ActionID {
	return sluice.NewActionID(r.Deployment, "codedeploy", "deployment")
}

func (r *Run) returnID(turn int) sluice.ActionID {
	what := "deployment"
	if turn > 0 {
		what += fmt.Sprintf(" %d", turn+1)
	}
	return sluice.NewActionID(r.Deployment, "rollback", what)
}
