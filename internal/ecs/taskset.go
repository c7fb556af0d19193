package ecs

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
)

// TaskSets hosts the variants as task sets of one service whose deployment
// controller is EXTERNAL.
type TaskSets struct {
	Service
	// Template has the fields that belong to a task set with controller EXTERNAL: launch type,
	// network, registries, platform version, capacity providers, tags.
	Template awsecs.CreateServiceInput
}

// Attachment attaches the tasks of a set to a target group. The zero value attaches them to none.
type Attachment struct {
	TargetGroup string // ARN
	Container   string
	Port        int32
	// Unregistered creates the set without the service's registries.
	Unregistered bool
}

// loadBalancers returns the attachment in the form of the API; nil for none.
func (a Attachment) loadBalancers() []ecstypes.LoadBalancer {
	if a.TargetGroup == "" {
		return nil
	}
	return []ecstypes.LoadBalancer{{TargetGroupArn: aws.String(a.TargetGroup), ContainerName: aws.String(a.Container),
		ContainerPort: aws.Int32(a.Port)}}
}

// WantedTaskSet describes the requested task set.
type WantedTaskSet struct {
	By       sluice.ActionID // its identity: externalId and client token
	Label    string          // its name in plans: "task set of canary"
	Revision Revision
	Scale    int // percent of the service's desired count
	Attach   Attachment
}

// EnsureSet finds the task set that carries the action's ID and scales it, or creates it. It
// returns the set as AWS reports it. found reports whether the set existed before.
func (t TaskSets) EnsureSet(ctx context.Context, act sluice.Act, w WantedTaskSet) (set sluice.TaskSet, found bool,
	err error) {
	for attempt := 1; ; attempt++ {
		l, err := t.Observe(ctx)
		if err != nil {
			return set, false, err
		}
		if l == nil {
			return set, false, t.errServiceGone()
		}
		if have := l.CreatedByAction(w.By); have != nil && have.Status != "DRAINING" {
			if have.Scale != float64(w.Scale) {
				err = t.Scale(ctx, act, *have, w.Label, w.Scale)
				have.Scale = float64(w.Scale)
			}
			return *have, true, err
		}
		set, err = t.createSet(ctx, act, w)
		if err == nil || !errors.Is(err, sluice.ErrUnanswered) || attempt == MaxTries {
			return set, false, err
		}
	}
}

func (t TaskSets) errServiceGone() error {
	return &sluice.Error{Op: "check the service", Resource: t.Resource(), Kind: sluice.NotFound,
		Err:  errors.New("another process or person deleted the service"),
		Next: "deploy again to create the service"}
}

func (t TaskSets) createSet(ctx context.Context, act sluice.Act, w WantedTaskSet) (set sluice.TaskSet, err error) {
	in := &awsecs.CreateTaskSetInput{
		Cluster: aws.String(t.Cluster), Service: aws.String(t.Name), TaskDefinition: aws.String(w.Revision.ARN),
		ExternalId: aws.String(string(w.By)), ClientToken: aws.String(w.By.Token()),
		Scale:                &ecstypes.Scale{Unit: ecstypes.ScaleUnitPercent, Value: float64(w.Scale)},
		NetworkConfiguration: t.Template.NetworkConfiguration, PlatformVersion: t.Template.PlatformVersion,
		ServiceRegistries: t.Template.ServiceRegistries, CapacityProviderStrategy: t.Template.CapacityProviderStrategy,
		LaunchType: t.Template.LaunchType, Tags: t.Template.Tags,
	}
	if w.Attach.Unregistered {
		in.ServiceRegistries = nil
	}
	in.LoadBalancers = w.Attach.loadBalancers()
	service := sluice.Write{Operation: "ecs:CreateTaskSet", Resource: t.Resource()}
	a := sluice.Attempt{Action: "create " + w.Label, Planned: service, Actual: service}
	err = act(ctx, a, func(ctx context.Context) (string, error) {
		out, err := t.API.CreateTaskSet(ctx, in)
		if err != nil {
			return "", err
		}
		set = newTaskSet(*out.TaskSet)
		return fmt.Sprintf("%s of %s at %d%%", set.ID, set.Revision, w.Scale), nil
	})
	return set, err
}

// Scale sets the percentage of the desired count that the set has.
func (t TaskSets) Scale(ctx context.Context, act sluice.Act, set sluice.TaskSet, label string, percent int) error {
	a := attemptOn("scale "+label, "ecs:UpdateTaskSet", label, set)
	return act(ctx, a, func(ctx context.Context) (string, error) {
		_, err := t.API.UpdateTaskSet(ctx, &awsecs.UpdateTaskSetInput{
			Cluster: aws.String(t.Cluster), Service: aws.String(t.Name), TaskSet: aws.String(set.ID),
			Scale: &ecstypes.Scale{Unit: ecstypes.ScaleUnitPercent, Value: float64(percent)}})
		return fmt.Sprintf("%d%%", percent), err
	})
}

// Promote makes the set PRIMARY. It shifts no traffic: with controller EXTERNAL, PRIMARY is only a
// label.
func (t TaskSets) Promote(ctx context.Context, act sluice.Act, set sluice.TaskSet, label string) error {
	a := attemptOn("promote "+label, "ecs:UpdateServicePrimaryTaskSet", label, set)
	return act(ctx, a, func(ctx context.Context) (string, error) {
		_, err := t.API.UpdateServicePrimaryTaskSet(ctx, &awsecs.UpdateServicePrimaryTaskSetInput{
			Cluster: aws.String(t.Cluster), Service: aws.String(t.Name), PrimaryTaskSet: aws.String(set.ID)})
		return "PRIMARY", err
	})
}

// Delete deletes the set. A set that does not exist is no error: the response of an earlier attempt
// may have been lost. It always sends force. The documentation and the observed behaviour differ on
// whether AWS needs it for a set that is not scaled to zero.
func (t TaskSets) Delete(ctx context.Context, act sluice.Act, set sluice.TaskSet, label string) error {
	a := attemptOn("delete "+label, "ecs:DeleteTaskSet", label, set)
	return act(ctx, a, func(ctx context.Context) (string, error) {
		_, err := t.API.DeleteTaskSet(ctx, &awsecs.DeleteTaskSetInput{
			Cluster: aws.String(t.Cluster), Service: aws.String(t.Name), TaskSet: aws.String(set.ID),
			Force: aws.Bool(true)})
		var gone *ecstypes.TaskSetNotFoundException
		if errors.As(err, &gone) {
			return "already deleted", nil
		}
		return "DRAINING", err
	})
}

func attemptOn(action, operation, label string, set sluice.TaskSet) sluice.Attempt {
	return sluice.Attempt{Action: action,
		Planned: sluice.Write{Operation: operation, Resource: label},
		Actual:  sluice.Write{Operation: operation, Resource: set.ID}}
}
