package bluegreen

import (
	"context"
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/codedeploy"
	"github.com/sluice-ecs/sluice/internal/definition/appspec"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/stage/begin"
	"github.com/sluice-ecs/sluice/internal/stage/capacity"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
	"github.com/sluice-ecs/sluice/internal/stage/revision"
	"github.com/sluice-ecs/sluice/internal/stage/rolling"
	"github.com/sluice-ecs/sluice/internal/stage/step"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// Deploy deploys the new revision to a service with controller CODE_DEPLOY: its
// attributes first, then one CodeDeploy deployment, followed to its end.
func Deploy(ctx context.Context, s *step.Step) error {
	live, err := beginCodeDeploy(ctx, s)
	if err != nil {
		return err
	}
	if live == nil || !s.Snapshot.Service {
		return createFirstService(ctx, s, live)
	}
	if err := updateAttributes(ctx, s, live); err != nil {
		return err
	}
	if !s.Plan.CodeDeploy.Deploys {
		return rolling.AwaitCount(ctx, s)
	}
	if s.Stage.Stop != "" {
		if done, err := stopOtherCodeDeploy(ctx, s); done || err != nil {
			return err
		}
	}
	rev, err := revision.Ensure(ctx, s)
	if err != nil {
		return err
	}
	d, err := requestCodeDeploy(ctx, s, live, rev)
	switch {
	case err != nil:
		return err
	case s.HandOver &&
		(d.JustCreated || !rolling.HandedOverSucceeded(ctx, s, verdict.Wanted{Revision: rev.Name, Deployment: d.ID})):
		return rolling.HandOver(s, rev, d.ID)
	case s.Plan.CodeDeploy.Returns:
		return followReturn(ctx, s, rev.Name, d)
	}
	if s.HandOverAt != "" {
		return followUntil(ctx, s, rev, d)
	}
	return followCodeDeploy(ctx, s, rev.Name, d)
}

// beginCodeDeploy takes the snapshot, and claims the service if the stage writes to it itself. A
// CodeDeploy deployment needs no claim: a deployment group has one at a time.
func beginCodeDeploy(ctx context.Context, s *step.Step) (*ecs.ServiceState, error) {
	live, err := begin.FindWithSnapshot(ctx, s)
	switch {
	case err != nil || live == nil:
		return nil, err
	case listsClaimWrite(s):
		return live, begin.ClaimAndSuspend(ctx, s, live)
	}
	if s.Claim.ReadTags(live.Tags, s.Deployment, s.Clock.Now()); s.Claim.OtherValue != "" {
		return nil, step.ErrClaimTaken(s)
	}
	return live, nil
}

// listsClaimWrite reports whether the plan of the stage has the claim among its writes.
func listsClaimWrite(s *step.Step) bool {
	return s.Stage.MayWrite(sluice.Write{Operation: "ecs:TagResource", Resource: s.Client.Resource()})
}

// createFirstService creates the service and waits until its first tasks are healthy. CodeDeploy
// cannot deploy to it yet, because there is no task set to replace.
func createFirstService(ctx context.Context, s *step.Step, live *ecs.ServiceState) error {
	rev, err := revision.Ensure(ctx, s)
	if err != nil {
		return err
	}
	fresh := live == nil
	if fresh {
		id := sluice.NewActionID(s.Deployment, "service", "create")
		if err := s.Client.CreateRolling(ctx, s.MakeWrite, id, *s.Service.Input, rev,
			step.NewClaimTags(s)); err != nil {
			return err
		}
		if live, err = s.ObserveService(ctx); err != nil {
			return err
		}
	}
	if err := begin.ClaimAndSuspend(ctx, s, live); err != nil {
		return err
	}
	first := live.Primary()
	if first == nil || first.Revision != rev.Name {
		return &sluice.Error{Op: "create the service", Resource: s.Client.Resource(), Kind: sluice.OutsideChange,
			Err:  fmt.Errorf("another process or person deployed %s to the service", live.Serving()),
			Next: "deploy again; CodeDeploy then deploys the revision"}
	}
	if s.HandOver && (fresh || !rolling.HandedOverSucceeded(ctx, s, verdict.Wanted{Revision: rev.Name})) {
		return rolling.HandOver(s, rev, first.ID)
	}
	return capacity.AwaitNewTasks(ctx, s, step.Member{TaskSet: *first, Variant: sluice.Primary,
		Label:   "task set of primary",
		Service: s.Client}, 0)
}

// updateAttributes changes the fields that UpdateService can change under CODE_DEPLOY, and the
// file's tags, as far as the plan lists them.
func updateAttributes(ctx context.Context, s *step.Step, live *ecs.ServiceState) error {
	u, tags := step.FileUpdate(s, live), ecs.DifferingTags(s.Service, live)
	if len(u.Members) > 0 &&
		s.Stage.MayWrite(sluice.Write{Operation: "ecs:UpdateService", Resource: s.Client.Resource()}) {
		if err := s.Client.Update(ctx, s.MakeWrite, "update service", u); err != nil {
			return err
		}
		s.EmitNote("updated the service: %s", strings.Join(u.Members, ", "))
	}
	if len(tags) == 0 || !listsClaimWrite(s) {
		return nil
	}
	return s.Client.Tag(ctx, s.MakeWrite, "tag service", live.ARN, tags)
}

// requestCodeDeploy creates the deployment, unless an earlier attempt did.
func requestCodeDeploy(ctx context.Context, s *step.Step, live *ecs.ServiceState, rev ecs.Revision) (createdDeployment,
	error) {
	spec, err := appspec.New(s.Service.Input, live.ARNOf(rev), s.Plan.CodeDeploy.Hooks)
	if err != nil {
		return createdDeployment{}, err
	}
	c := s.Plan.CodeDeploy
	start := codedeploy.StartRequest{Config: c.Config, AppSpec: spec, By: codeDeployID(s), Rollback: c.RollbackEvents}
	if c.Returns {
		start.Rollback, start.NoAlarms = []string{}, true
	}
	return ensureCodeDeploy(ctx, s, forwardRequest, start)
}

// requestOf chooses one of the requests that are saved.
type requestOf func(*memory.CodeDeploy) **memory.CodeDeployRequest

func forwardRequest(c *memory.CodeDeploy) **memory.CodeDeployRequest { return &c.Forward }

func returnRequest(c *memory.CodeDeploy) **memory.CodeDeployRequest { return &c.Return }

// ensureCodeDeploy creates a deployment once. It saves before the call that the call is about to be
// sent, and after it the ID.
func ensureCodeDeploy(ctx context.Context, s *step.Step, of requestOf,
	start codedeploy.StartRequest) (createdDeployment,
	error) {
	saved, err := s.Memory.CodeDeploy.Load(ctx)
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
		id, err = findCodeDeployID(ctx, s, start.By)
		found = id != ""
	} else {
		err = s.Memory.CodeDeploy.Save(ctx, saved)
	}
	if err != nil {
		return createdDeployment{}, err
	}
	if start.NeverTried = true; !found {
		start.Group = deploymentGroup(s)
		if id, found, err = codeDeployClient(s).EnsureDeployment(ctx, s.MakeWrite, start); err != nil {
			return createdDeployment{}, adviseCreation(s, err)
		}
	}
	if found {
		s.Host.Emit(sluice.Adopted{Action: start.By, Resource: id})
	}
	s.EmitNote("CodeDeploy deployment %s: %s", id, codedeploy.ConsoleURL(s.Plan.Region, id))
	was.Deployment = id
	return createdDeployment{ID: id, JustCreated: !found}, s.Memory.CodeDeploy.Save(ctx, saved)
}

func deploymentGroup(s *step.Step) codedeploy.Group {
	return codedeploy.Group{Application: s.Plan.CodeDeploy.Application, Name: s.Plan.CodeDeploy.Group}
}

// adviseCreation adds the command that creates the deployment group again, with the settings that the plan has, to the
// error of a call if the group was deleted.
func adviseCreation(s *step.Step, err error) error {
	c := s.Plan.CodeDeploy
	g := codedeploy.GroupSettings{Group: deploymentGroup(s), Cluster: s.Plan.Cluster, Service: s.Plan.Service,
		TargetGroups: s.Plan.Scope.Names, Terminate: c.Keeps}
	if all := s.Plan.Scope.Listeners; len(all) > 0 {
		g.Listener = all[0]
	}
	if all := s.Plan.Scope.TestRules; len(all) > 0 {
		g.TestListener = all[0]
	}
	if c.Config == "" {
		g.Config = c.ConfigUsed
	}
	if len(c.RollbackEvents) == 0 {
		g.RollbackEvents = c.RollsBackOn
	}
	return codedeploy.AdviseCreation(err, g, c.Ready)
}

func codeDeployClient(s *step.Step) codedeploy.Client {
	return codedeploy.Client{API: s.Account.CodeDeploy(), Confirm: s.AwaitSecondRead}
}

// The action IDs of the requested CodeDeploy deployments: one forward, one back. If the one back
// fails, another one follows.

func codeDeployID(s *step.Step) sluice.ActionID {
	action := "codedeploy"
	if s.Plan.Returns {
		action = codedeploy.ActionReturn
	}
	return sluice.NewActionID(s.Deployment, action, "deployment")
}

func returnID(s *step.Step, turn int) sluice.ActionID {
	what := "deployment"
	if turn > 0 {
		what += fmt.Sprintf(" %d", turn+1)
	}
	return sluice.NewActionID(s.Deployment, codedeploy.ActionRollback, what)
}
