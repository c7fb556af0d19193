package ecs

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// family holds the revisions of one name. A revision number is never used twice.
type family struct {
	name string
	last int
	revs []*world.TaskDefinition // oldest first
}

// newestActive returns the latest ACTIVE revision, or nil.
func (f *family) newestActive() *world.TaskDefinition {
	for i := len(f.revs) - 1; i >= 0; i-- {
		if f.revs[i].Status == "ACTIVE" {
			return f.revs[i]
		}
	}
	return nil
}

// definitionDoc holds the parts of a task definition that no controller reads.
type definitionDoc struct {
	def  ecstypes.TaskDefinition
	tags []ecstypes.Tag
}

func docOfDefinition(d *world.TaskDefinition) *definitionDoc { return d.Doc.(*definitionDoc) }

// definitionOf returns a revision by family (the newest ACTIVE), family:revision or ARN, or nil.
func definitionOf(tx *world.Tx, id string) *world.TaskDefinition {
	if isARN(id) {
		d, _ := tx.TaskDefinitions.Get(id)
		return d
	}
	name, rev, numbered := strings.Cut(id, ":")
	if numbered {
		d, _ := tx.TaskDefinitions.Get(tx.ARN("ecs", "task-definition/"+name+":"+rev))
		return d
	}
	if f, ok := stateOf(tx).families.Get(name); ok {
		return f.newestActive()
	}
	return nil
}

func showDefinition(d *world.TaskDefinition) *ecstypes.TaskDefinition {
	shown := deepCopy(docOfDefinition(d).def)
	shown.Status = ecstypes.TaskDefinitionStatus(d.Status)
	return &shown
}

// RegisterTaskDefinition adds a revision to a family. It is not idempotent: the same definition
// registered twice makes two revisions.
func (s *Service) RegisterTaskDefinition(ctx context.Context,
	in *awsecs.RegisterTaskDefinitionInput) (*awsecs.RegisterTaskDefinitionOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.RegisterTaskDefinitionOutput, error) {
		def, err := buildDefinition(deepCopy(in))
		if err != nil {
			return nil, err
		}
		if err := checkTags(in.Tags); err != nil {
			return nil, err
		}
		d := addRevision(tx, def)
		docOfDefinition(d).tags = deepCopy(in.Tags)
		return &awsecs.RegisterTaskDefinitionOutput{TaskDefinition: showDefinition(d), Tags: deepCopy(in.Tags)}, nil
	})
}

func addRevision(tx *world.Tx, def *ecstypes.TaskDefinition) *world.TaskDefinition {
	name := val(def.Family)
	f, ok := stateOf(tx).families.Get(name)
	if !ok {
		f = &family{name: name}
		stateOf(tx).families.Put(name, f)
	}
	f.last++
	arn := tx.ARN("ecs", fmt.Sprintf("task-definition/%s:%d", name, f.last))
	def.TaskDefinitionArn, def.Revision, def.RegisteredAt = ptr(arn), int32(f.last), ptr(tx.Now())
	def.RegisteredBy = ptr(rootOf(tx))
	d := &world.TaskDefinition{
		ARN: arn, Family: name, Revision: f.last, Status: "ACTIVE", Containers: specsOf(def),
		NetworkMode: string(def.NetworkMode), Reserved: reservedBy(def), ExecutionRole: val(def.ExecutionRoleArn),
		Doc: &definitionDoc{def: *def},
	}
	f.revs = append(f.revs, d)
	tx.TaskDefinitions.Put(arn, d)
	tx.Log("task definition", name, "revision %d", f.last)
	return d
}

// DescribeTaskDefinition returns a revision, with its tags if requested.
func (s *Service) DescribeTaskDefinition(ctx context.Context,
	in *awsecs.DescribeTaskDefinitionInput) (*awsecs.DescribeTaskDefinitionOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.DescribeTaskDefinitionOutput, error) {
		d := definitionOf(tx, val(in.TaskDefinition))
		if d == nil {
			return nil, clientError("Unable to describe task definition.")
		}
		out := &awsecs.DescribeTaskDefinitionOutput{TaskDefinition: showDefinition(d)}
		if hasItem(in.Include, "TAGS") {
			out.Tags = shownTags(docOfDefinition(d).tags)
		}
		return out, nil
	})
}

// numberedRevision returns the revision that a request names with its number.
func numberedRevision(tx *world.Tx, id string) (*world.TaskDefinition, error) {
	if !isARN(id) {
		_, rev, ok := strings.Cut(id, ":")
		if !ok {
			return nil, clientError("Revision is missing.")
		}
		if _, err := strconv.Atoi(rev); err != nil {
			return nil, invalidParameter("Invalid revision number. Number: %s", rev)
		}
	}
	d := definitionOf(tx, id)
	if d == nil {
		return nil, clientError("Unable to describe task definition.")
	}
	return d, nil
}

// DeregisterTaskDefinition makes a revision INACTIVE. Its tasks continue to run, and services and
// task sets that use it may still start tasks.
func (s *Service) DeregisterTaskDefinition(ctx context.Context,
	in *awsecs.DeregisterTaskDefinitionInput) (*awsecs.DeregisterTaskDefinitionOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.DeregisterTaskDefinitionOutput, error) {
		d, err := numberedRevision(tx, val(in.TaskDefinition))
		if err != nil {
			return nil, err
		}
		if d.Status == "DELETE_IN_PROGRESS" {
			return nil, clientError("The specified task definition is in the process of being deleted.")
		}
		if d.Status == "ACTIVE" {
			d.Status = "INACTIVE"
			docOfDefinition(d).def.DeregisteredAt = ptr(tx.Now())
			tx.Log("task definition", d.Family, "revision %d INACTIVE", d.Revision)
		}
		return &awsecs.DeregisterTaskDefinitionOutput{TaskDefinition: showDefinition(d)}, nil
	})
}

// DeleteTaskDefinitions requests the deletion of up to 10 INACTIVE revisions. Describe calls still
// return them, as DELETE_IN_PROGRESS.
func (s *Service) DeleteTaskDefinitions(ctx context.Context,
	in *awsecs.DeleteTaskDefinitionsInput) (*awsecs.DeleteTaskDefinitionsOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.DeleteTaskDefinitionsOutput, error) {
		if n := len(in.TaskDefinitions); n == 0 || n > 10 {
			return nil, invalidParameter("Task definitions must have between 1 and 10 elements.")
		}
		out := &awsecs.DeleteTaskDefinitionsOutput{TaskDefinitions: []ecstypes.TaskDefinition{},
			Failures: []ecstypes.Failure{}}
		for _, id := range in.TaskDefinitions {
			if !isARN(id) && !strings.Contains(id, ":") {
				out.Failures = append(out.Failures, ecstypes.Failure{Arn: ptr(id), Reason: ptr("The specified task " +
					"definition identifier is invalid. Specify a valid name or ARN and try again.")})
				continue
			}
			d, err := numberedRevision(tx, id)
			if err != nil {
				out.Failures = append(out.Failures,
					ecstypes.Failure{Arn: ptr(id),
						Reason: ptr("The specified task definition does not exist. Specify a valid account, family, " +
							"revision and try again.")})
				continue
			}
			if d.Status == "ACTIVE" {
				out.Failures = append(out.Failures,
					ecstypes.Failure{Arn: ptr(d.ARN),
						Reason: ptr("The specified task definition is still in ACTIVE status. Please deregister the " +
							"target and try again.")})
				continue
			}
			d.Status = "DELETE_IN_PROGRESS"
			docOfDefinition(d).def.DeleteRequestedAt = ptr(tx.Now())
			out.TaskDefinitions = append(out.TaskDefinitions, *showDefinition(d))
		}
		return out, nil
	})
}
