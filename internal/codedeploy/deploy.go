package codedeploy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition/appspec"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// StartRequest describes the requested deployment.
type StartRequest struct {
	Group      Group
	Config     string // deployment configuration; empty: the group's
	AppSpec    appspec.Spec
	By         sluice.ActionID // its identity
	Rollback   []string        // events after which it is rolled back; nil: the group's settings apply
	NoAlarms   bool            // no alarm stops it, whatever the group says
	NeverTried bool            // no earlier attempt can have created it, so it is not searched first
}

// ErrBusy is in the tree of an error about a running deployment of another actor.
var ErrBusy = errors.New("another deployment of the group is running")

// ownDescription returns the description that carries the ID of the action.
func ownDescription(by sluice.ActionID) string { return "sluice " + string(by) }

// The second parts of the IDs of actions that roll back.
const (
	ActionRollback = "rollback" // of the deployment of the ID
	ActionReturn   = "return"   // the deployment of the ID is itself a rollback
)

// isReturn reports whether a description is that of a rollback by sluice.
func isReturn(description string) bool {
	by, ok := strings.CutPrefix(description, ownDescription(""))
	_, action, _ := strings.Cut(by, "/")
	action, _, _ = strings.Cut(action, "/")
	return ok && (action == ActionRollback || action == ActionReturn)
}

// RollsBack reports whether a deployment rolls the service back, by CodeDeploy or by sluice.
func RollsBack(d *verdict.CodeDeployment) bool { return d.IsRollback() || isReturn(d.Description) }

// EnsureDeployment finds the deployment that carries the action's ID, or creates it. found is true
// if it existed before. A running deployment of another actor is an error of kind Overtaken with
// its id: CodeDeploy runs one per group at a time.
func (h Client) EnsureDeployment(ctx context.Context, act sluice.Act, s StartRequest) (id string, found bool,
	err error) {
	for attempt := 1; ; attempt++ {
		if !s.NeverTried || attempt > 1 {
			if id, err = h.FindOwn(ctx, s.Group, s.By); id != "" || err != nil {
				return id, true, err
			}
		}
		id, err = h.createDeployment(ctx, act, s)
		var busy *cdtypes.DeploymentLimitExceededException
		switch {
		case errors.As(err, &busy):
			return h.resolveBusy(ctx, s)
		case err == nil || !errors.Is(err, sluice.ErrUnanswered) || attempt == 3:
			return id, false, err
		}
	}
}

func (h Client) createDeployment(ctx context.Context, act sluice.Act, s StartRequest) (id string, err error) {
	in := &awscd.CreateDeploymentInput{
		ApplicationName: aws.String(s.Group.Application), DeploymentGroupName: aws.String(s.Group.Name),
		Description: aws.String(ownDescription(s.By)),
		Revision: &cdtypes.RevisionLocation{RevisionType: cdtypes.RevisionLocationTypeAppSpecContent,
			AppSpecContent: &cdtypes.AppSpecContent{Content: aws.String(s.AppSpec.Content),
				Sha256: aws.String(s.AppSpec.SHA256)}},
	}
	if s.Config != "" {
		in.DeploymentConfigName = aws.String(s.Config)
	}
	if s.Rollback != nil {
		in.AutoRollbackConfiguration = rollbackConfig(s.Rollback)
	}
	if s.NoAlarms {
		in.OverrideAlarmConfiguration = &cdtypes.AlarmConfiguration{}
	}
	w := sluice.Write{Operation: "codedeploy:CreateDeployment", Resource: s.Group.String()}
	err = act(ctx, sluice.Attempt{Action: "create deployment", Planned: w, Actual: w},
		func(ctx context.Context) (string, error) {
			out, err := h.API.CreateDeployment(ctx, in)
			if err != nil {
				return "", err
			}
			id = aws.ToString(out.DeploymentId)
			return id, nil
		})
	return id, err
}

func rollbackConfig(events []string) *cdtypes.AutoRollbackConfiguration {
	c := &cdtypes.AutoRollbackConfiguration{Enabled: len(events) > 0}
	for _, e := range events {
		c.Events = append(c.Events, cdtypes.AutoRollbackEvent(e))
	}
	return c
}

// CheckEvents rejects events after which CodeDeploy does not roll back.
func CheckEvents(events []string) error {
	known := cdtypes.AutoRollbackEvent("").Values()
	for i, e := range events {
		if !slices.Contains(known, cdtypes.AutoRollbackEvent(e)) {
			names := make([]string, 0, len(known))
			for _, k := range known {
				names = append(names, string(k))
			}
			return fmt.Errorf("%q is not an event after which CodeDeploy rolls back; the events are %s", e,
				strings.Join(names, ", "))
		}
		if slices.Contains(events[:i], e) {
			return fmt.Errorf("the event %s is given twice", e)
		}
	}
	return nil
}

// resolveBusy finds the deployment that keeps the group busy. It may be that of this action, if
// CodeDeploy had created it before it listed it. A list without the running deployment is older
// than the refusal.
func (h Client) resolveBusy(ctx context.Context, s StartRequest) (id string, found bool, err error) {
	for n := 1; ; n++ {
		if id, err = h.FindOwn(ctx, s.Group, s.By); id != "" || err != nil {
			return id, true, err
		}
		other, err := h.RunningDeployment(ctx, s.Group)
		if err != nil {
			return "", false, err
		}
		d, err := h.getOnce(ctx, other)
		switch {
		case err != nil:
			return "", false, err
		case d != nil && d.Description == ownDescription(s.By):
			return other, true, nil
		case d != nil || h.Confirm == nil || n == maxBusyReads:
			return "", false, BusyError(s.Group, other)
		}
		if err := h.Confirm(ctx); err != nil {
			return "", false, err
		}
	}
}

// maxBusyReads is how often lists are read to find the deployment that keeps a group busy.
const maxBusyReads = 5

// BusyError returns the error about a running deployment of another actor; id may be empty.
func BusyError(g Group, id string) error {
	next := "wait for it: sluice wait --deployment " + id +
		"; or stop it and roll back: sluice rollback"
	if id == "" {
		next = "deploy again"
	}
	return &sluice.Error{Op: "create a deployment", Resource: g.String(), Kind: sluice.Overtaken,
		Err: fmt.Errorf("%w: %s", ErrBusy, orUnknown(id)), Next: next}
}

func orUnknown(id string) string {
	if id == "" {
		return "it has ended since"
	}
	return id
}

// maxPages is how many pages of a hundred deployments are searched for the deployment of an action.
// AWS lists the newest first, and an older deployment has been replaced already.
const maxPages = 5

// FindOwn returns the id of the group's deployment that carries the action's ID; empty if there is
// none.
func (h Client) FindOwn(ctx context.Context, g Group, by sluice.ActionID) (string, error) {
	in := &awscd.ListDeploymentsInput{ApplicationName: aws.String(g.Application),
		DeploymentGroupName: aws.String(g.Name)}
	for range maxPages {
		out, err := h.API.ListDeployments(ctx, in)
		if err != nil {
			return "", fmt.Errorf("find the deployment of %s: %w", g, sluice.Inner(err))
		}
		for ids := range slices.Chunk(out.Deployments, batchDeployments) {
			all, err := h.readDeployments(ctx, ids)
			if err != nil {
				return "", err
			}
			for _, d := range all {
				if d.Description == ownDescription(by) {
					return d.ID, nil
				}
			}
		}
		if in.NextToken = out.NextToken; aws.ToString(in.NextToken) == "" {
			break
		}
	}
	return "", nil
}

// Stop requests that CodeDeploy stops a deployment, and rolls it back if back is set. Stopping
// takes a moment, and the rollback is a separate deployment. label is the name of the deployment in
// plans. A deployment that has ended is no error: stopped is false then.
func (h Client) Stop(ctx context.Context, act sluice.Act, label, id string, back bool) (stopped bool, err error) {
	a := sluice.Attempt{Action: "stop " + label,
		Planned: sluice.Write{Operation: "codedeploy:StopDeployment", Resource: label},
		Actual:  sluice.Write{Operation: "codedeploy:StopDeployment", Resource: id}}
	err = act(ctx, a, func(ctx context.Context) (string, error) {
		out, err := h.API.StopDeployment(ctx, &awscd.StopDeploymentInput{DeploymentId: aws.String(id),
			AutoRollbackEnabled: aws.Bool(back)})
		var over *cdtypes.DeploymentAlreadyCompletedException
		if errors.As(err, &over) {
			return "already ended", nil
		}
		if err != nil {
			return "", err
		}
		stopped = true
		return string(out.Status), nil
	})
	return stopped, err
}

// Continue ends the wait before production traffic is shifted or, with termination, the wait before
// the original task set is deleted. A deployment that does not wait is no error: continued is false
// then. The call advances the deployment, so it is not repeated after a lost response. A read shows
// whether the call took effect.
func (h Client) Continue(ctx context.Context, act sluice.Act, label, id string, termination bool) (continued bool,
	err error) {
	wait := cdtypes.DeploymentWaitTypeReadyWait
	if termination {
		wait = cdtypes.DeploymentWaitTypeTerminationWait
	}
	a := sluice.Attempt{Action: "continue " + label,
		Planned: sluice.Write{Operation: "codedeploy:ContinueDeployment", Resource: label},
		Actual:  sluice.Write{Operation: "codedeploy:ContinueDeployment", Resource: id}}
	err = act(ctx, a, func(ctx context.Context) (string, error) {
		_, err := h.API.ContinueDeployment(ctx, &awscd.ContinueDeploymentInput{DeploymentId: aws.String(id),
			DeploymentWaitType: wait})
		var over *cdtypes.DeploymentAlreadyCompletedException
		var early *cdtypes.DeploymentIsNotInReadyStateException
		if errors.As(err, &over) || errors.As(err, &early) {
			return "it does not wait", nil
		}
		continued = err == nil
		return string(wait), err
	})
	if errors.Is(err, sluice.ErrUnanswered) && !termination {
		d, look := h.GetDeployment(ctx, id)
		if look == nil && d != nil && d.Status != string(cdtypes.DeploymentStatusReady) {
			return true, nil
		}
	}
	return continued, err
}
