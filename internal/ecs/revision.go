package ecs

import (
	"context"
	"errors"
	"fmt"
	"strings"

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

// FindRegistered returns the newest active revision of the family if it equals want. Otherwise it
// returns the zero Revision.
func FindRegistered(ctx context.Context, api *awsecs.Client, want *definition.Task) (Revision, error) {
	have, err := LatestTagged(ctx, api, aws.ToString(want.Input.Family))
	if err != nil || have == nil {
		return Revision{}, err
	}
	return MatchRevision(want, have), nil
}

// recentLimit is how many of the newest revisions are searched after a registration without a
// response. Other processes may register revisions directly after it.
const recentLimit = 5

// FindRecent searches the newest revisions of the family for one that equals want. It returns the
// zero Revision if there is none.
func FindRecent(ctx context.Context, api *awsecs.Client, want *definition.Task) (Revision, error) {
	arns, err := listNewest(ctx, api, aws.ToString(want.Input.Family), recentLimit)
	for _, arn := range arns {
		have, err := ReadTagged(ctx, api, arn)
		if err != nil {
			return Revision{}, err
		}
		if rev := MatchRevision(want, have); rev.ARN != "" {
			return rev, nil
		}
	}
	return Revision{}, err
}

// Tagged is a registered task definition with its tags, which AWS returns separately.
type Tagged struct {
	*ecstypes.TaskDefinition
	Tags []ecstypes.Tag
}

// MatchRevision returns the revision of have if have equals want and has its tags, otherwise the zero
// Revision.
func MatchRevision(want *definition.Task, have *Tagged) Revision {
	if len(definition.CompareTask(want, have.TaskDefinition))+len(definition.CompareTags(want, have.Tags)) > 0 {
		return Revision{}
	}
	return newRevision(have.TaskDefinition)
}

// newestListed returns the newest ACTIVE revision of a family, or nil.
func newestListed(ctx context.Context, api *awsecs.Client, family string) (*Tagged, error) {
	arns, err := listNewest(ctx, api, family, 1)
	if err != nil || len(arns) == 0 {
		return nil, err
	}
	return ReadTagged(ctx, api, arns[0])
}

// listNewest returns the ARNs of the newest ACTIVE revisions, at most the given number.
func listNewest(ctx context.Context, api *awsecs.Client, family string, most int32) ([]string, error) {
	list, err := api.ListTaskDefinitions(ctx, &awsecs.ListTaskDefinitionsInput{
		FamilyPrefix: aws.String(family), Sort: ecstypes.SortOrderDesc, MaxResults: aws.Int32(most)})
	if err != nil {
		return nil, fmt.Errorf("list revisions of %s: %w", family, sluice.Inner(err))
	}
	return list.TaskDefinitionArns, nil
}

// LatestTagged returns the newest ACTIVE revision of a family, or nil, with one call if there is
// a revision. A family's name stands for its latest ACTIVE revision (API Reference,
// DescribeTaskDefinition).
func LatestTagged(ctx context.Context, api *awsecs.Client, family string) (*Tagged, error) {
	td, err := ReadTagged(ctx, api, family)
	if err != nil && IsRefused(err) {
		return newestListed(ctx, api, family) // finds out whether the family has no revision
	}
	return td, err
}

// ReadDefinition is [ReadTagged] without the tags.
func ReadDefinition(ctx context.Context, api *awsecs.Client, name string) (*ecstypes.TaskDefinition, error) {
	td, err := ReadTagged(ctx, api, name)
	if td == nil {
		return nil, err
	}
	return td.TaskDefinition, err
}

// ReadTagged reads a task definition by ARN or family:revision, with its tags.
func ReadTagged(ctx context.Context, api *awsecs.Client, name string) (*Tagged, error) {
	out, err := api.DescribeTaskDefinition(ctx, &awsecs.DescribeTaskDefinitionInput{TaskDefinition: aws.String(name),
		Include: []ecstypes.TaskDefinitionField{ecstypes.TaskDefinitionFieldTags}})
	if err != nil {
		next := sluice.NextStep(err)
		inner := sluice.Inner(err)
		if IsRefused(err) {
			next = "use family:revision or the ARN of a registered task definition"
			if family, _, isRevision := strings.Cut(sluice.RevisionOf(name), ":"); isRevision {
				next, inner = explainUnregistered(ctx, api, family, inner)
			}
		}
		return nil, &sluice.Error{Op: "read task definition " + name, Kind: sluice.KindOf(err), Err: inner, Next: next}
	}
	return &Tagged{out.TaskDefinition, out.Tags}, nil
}

// unregisteredError says which revisions a family has, in place of AWS's words: AWS says only that it is unable to
// describe a task definition which it does not have.
type unregisteredError struct {
	text  string
	cause error
}

func (e unregisteredError) Error() string { return e.text }
func (e unregisteredError) Unwrap() error { return e.cause }

// namedRevisions is how many revisions an error names.
const namedRevisions = 5

// explainUnregistered returns what to name instead of a revision that its family does not have, and the error of it.
func explainUnregistered(ctx context.Context, api *awsecs.Client, family string, err error) (next string, explained error) {
	next = "name a registered one: aws ecs list-task-definitions --family-prefix " + family
	if !strings.Contains(err.Error(), "Unable to describe task definition") {
		return next, err
	}
	text := "no such task definition is registered"
	arns, listErr := listNewest(ctx, api, family, namedRevisions)
	var names []string
	for _, arn := range arns {
		names = append(names, sluice.RevisionOf(arn))
	}
	switch {
	case listErr != nil:
	case len(names) == 0:
		text += ", and no revision of family " + family
	default:
		text += "; the newest of family " + family + ": " + strings.Join(names, ", ")
		next = "name one of these revisions, such as " + names[0]
	}
	return next, unregisteredError{text, err}
}

// ReadActive reads a registered task definition, a family:revision or a family for its newest, as the request that
// registers it. ECS has to start tasks of it.
func ReadActive(ctx context.Context, api *awsecs.Client, name string) (*definition.Task, Revision, error) {
	td, err := ReadDefinition(ctx, api, name)
	if err != nil {
		return nil, Revision{}, err
	}
	rev := newRevision(td)
	if td.Status != ecstypes.TaskDefinitionStatusActive {
		return nil, rev, &sluice.Error{Op: "select the task definition", Resource: rev.Name,
			Err:  fmt.Errorf("it is %s: ECS starts no new task of it", td.Status),
			Next: "run sluice revisions to list the revisions"}
	}
	return definition.TaskOf(td), rev, nil
}

// ReadDeregistered reads a revision as the request that registers a copy of it. It returns nil if the
// revision was not deregistered.
func ReadDeregistered(ctx context.Context, api *awsecs.Client, name string) (*definition.Task, error) {
	td, err := ReadDefinition(ctx, api, name)
	if err != nil || !definition.IsDeregistered(td) {
		return nil, err
	}
	return definition.TaskOf(td), nil
}

// IsDeregistered is [definition.IsDeregistered] of a revision.
func IsDeregistered(ctx context.Context, api *awsecs.Client, name string) (bool, error) {
	task, err := ReadDeregistered(ctx, api, name)
	return task != nil, err
}

// ErrDeregistered says that a revision was deregistered.
func ErrDeregistered(name string) error {
	return &sluice.Error{Op: "start tasks of " + name, Kind: sluice.Conflict, Err: errors.New("the revision was deregistered")}
}

func newRevision(td *ecstypes.TaskDefinition) Revision {
	arn := aws.ToString(td.TaskDefinitionArn)
	return Revision{ARN: arn, Name: sluice.RevisionOf(arn)}
}

// MaxTries is how often a create call without a response is repeated. Each repetition first
// searches for the resource, so an unreliable network creates nothing twice.
const MaxTries = 8

// EnsureRevision finds want among the revisions or registers it. RegisterTaskDefinition has no
// client token. After a lost response EnsureRevision searches for the revision and registers it
// again only if AWS does not have it. shown waits until AWS must return such a revision, and
// searches for it.
func EnsureRevision(ctx context.Context, api *awsecs.Client, act sluice.Act, want *definition.Task,
	shown func(context.Context) (Revision, error)) (Revision, error) {
	for attempt := 1; ; attempt++ {
		rev, err := FindRegistered(ctx, api, want)
		if err != nil || rev.ARN != "" {
			return rev, err
		}
		rev, err = Register(ctx, api, act, want)
		if err == nil || !errors.Is(err, sluice.ErrUnanswered) || attempt == MaxTries {
			return rev, err
		}
		if rev, err = shown(ctx); err != nil || rev.ARN != "" {
			return rev, err
		}
	}
}

// Register registers want without a read. RegisterTaskDefinition has no client token, so a caller
// without a response must search for the revision.
func Register(ctx context.Context, api *awsecs.Client, act sluice.Act, want *definition.Task) (rev Revision,
	err error) {
	w := sluice.Write{Operation: "ecs:RegisterTaskDefinition", Resource: aws.ToString(want.Input.Family)}
	err = act(ctx, sluice.Attempt{Action: "register task definition", Planned: w, Actual: w},
		func(ctx context.Context) (string, error) {
			in := *want.Input
			out, err := api.RegisterTaskDefinition(ctx, &in)
			if err != nil {
				return "", err
			}
			rev = newRevision(out.TaskDefinition)
			return rev.Name, nil
		})
	return rev, err
}
