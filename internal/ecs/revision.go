package ecs

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// Revision is a registered task definition.
type Revision struct {
	ARN  string
	Name string // family:revision
}

// Registered looks for the newest active revision of the family; the zero
// Revision if there is none or it differs from want.
func Registered(ctx context.Context, api *awsecs.Client, want *definition.Task) (Revision, error) {
	have, err := Newest(ctx, api, aws.ToString(want.Input.Family))
	if err != nil || have == nil {
		return Revision{}, err
	}
	return Same(want, have), nil
}

// recent is how many of the newest revisions are looked at for one whose registering
// was not answered: others may register theirs right after it.
const recent = 5

// Recent looks for a revision among the newest of the family; the zero Revision if
// none of them is want.
func Recent(ctx context.Context, api *awsecs.Client, want *definition.Task) (Revision, error) {
	arns, err := newest(ctx, api, aws.ToString(want.Input.Family), recent)
	for _, arn := range arns {
		have, err := Definition(ctx, api, arn)
		if err != nil {
			return Revision{}, err
		}
		if rev := Same(want, have); rev.ARN != "" {
			return rev, nil
		}
	}
	return Revision{}, err
}

// Same is the revision that have is, the zero Revision if it differs from want.
func Same(want *definition.Task, have *ecstypes.TaskDefinition) Revision {
	if len(definition.CompareTask(want, have)) > 0 {
		return Revision{}
	}
	return revision(have)
}

// Newest is the newest ACTIVE revision of a family, or nil.
func Newest(ctx context.Context, api *awsecs.Client, family string) (*ecstypes.TaskDefinition, error) {
	arns, err := newest(ctx, api, family, 1)
	if err != nil || len(arns) == 0 {
		return nil, err
	}
	return Definition(ctx, api, arns[0])
}

// newest are the ARNs of the newest ACTIVE revisions, at most so many.
func newest(ctx context.Context, api *awsecs.Client, family string, most int32) ([]string, error) {
	list, err := api.ListTaskDefinitions(ctx, &awsecs.ListTaskDefinitionsInput{
		FamilyPrefix: aws.String(family), Sort: ecstypes.SortOrderDesc, MaxResults: aws.Int32(most)})
	if err != nil {
		return nil, fmt.Errorf("look for revisions of %s: %w", family, sluice.Inner(err))
	}
	return list.TaskDefinitionArns, nil
}

// Latest is Newest in one call where there is a revision, which is what a family's
// name stands for (API Reference, DescribeTaskDefinition).
func Latest(ctx context.Context, api *awsecs.Client, family string) (*ecstypes.TaskDefinition, error) {
	td, err := Definition(ctx, api, family)
	if err != nil && Refused(err) {
		return Newest(ctx, api, family) // it tells none from a refusal
	}
	return td, err
}

// Definition reads a task definition by ARN or family:revision.
func Definition(ctx context.Context, api *awsecs.Client, name string) (*ecstypes.TaskDefinition, error) {
	out, err := api.DescribeTaskDefinition(ctx, &awsecs.DescribeTaskDefinitionInput{TaskDefinition: aws.String(name)})
	if err != nil {
		next := sluice.NextStep(err)
		if next == "" && Refused(err) {
			next = "give family:revision or the ARN of a registered task definition"
		}
		return nil, &sluice.Error{Op: "read task definition " + name, Kind: sluice.KindOf(err), Err: sluice.Inner(err), Next: next}
	}
	return out.TaskDefinition, nil
}

// Deregistered reports whether a revision is INACTIVE: ECS starts no task of it any more.
func Deregistered(ctx context.Context, api *awsecs.Client, name string) (bool, error) {
	td, err := Definition(ctx, api, name)
	return err == nil && td.Status != ecstypes.TaskDefinitionStatusActive, err
}

func revision(td *ecstypes.TaskDefinition) Revision {
	arn := aws.ToString(td.TaskDefinitionArn)
	return Revision{ARN: arn, Name: sluice.RevisionOf(arn)}
}

// tries is how often a thing is made whose making was not answered. It is looked for
// before each, so that a bad network makes nothing twice.
const tries = 8

// EnsureRevision finds want among the revisions or registers it. Registering
// has no identity: an answer that is lost is looked for, and only if AWS has not
// got the revision is it registered again. shown waits until AWS must show what such
// a call made, and looks for it.
func EnsureRevision(ctx context.Context, api *awsecs.Client, act sluice.Act, want *definition.Task, shown func(context.Context) (Revision, error)) (Revision, error) {
	for attempt := 1; ; attempt++ {
		rev, err := Registered(ctx, api, want)
		if err != nil || rev.ARN != "" {
			return rev, err
		}
		rev, err = Register(ctx, api, act, want)
		if err == nil || !errors.Is(err, sluice.ErrUnanswered) || attempt == tries {
			return rev, err
		}
		if rev, err = shown(ctx); err != nil || rev.ARN != "" {
			return rev, err
		}
	}
}

// Register registers want without a look. Registering has no identity: whoever
// gets no answer has to look.
func Register(ctx context.Context, api *awsecs.Client, act sluice.Act, want *definition.Task) (rev Revision, err error) {
	w := sluice.Write{Operation: "ecs:RegisterTaskDefinition", Resource: aws.ToString(want.Input.Family)}
	err = act(ctx, sluice.Attempt{Action: "register task definition", Planned: w, Actual: w}, func(ctx context.Context) (string, error) {
		in := *want.Input
		out, err := api.RegisterTaskDefinition(ctx, &in)
		if err != nil {
			return "", err
		}
		rev = revision(out.TaskDefinition)
		return rev.Name, nil
	})
	return rev, err
}
