package cloudwatchlogs

import (
	"context"
	"maps"
	"slices"
	"strings"

	awslogs "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	logstypes "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// groupDoc holds the data of a group that no controller reads.
type groupDoc struct {
	class logstypes.LogGroupClass
	key   *string
	tags  map[string]string
}

// docOf returns a group's data. It creates the data for a group that a container created.
func docOf(g *world.LogGroup) *groupDoc {
	d, ok := g.Doc.(*groupDoc)
	if !ok {
		d = &groupDoc{class: logstypes.LogGroupClassStandard, tags: map[string]string{}}
		g.Doc = d
	}
	return d
}

// CreateLogGroup creates a group. Its events are kept for ever until a retention policy is set.
func (s *Service) CreateLogGroup(ctx context.Context, in *awslogs.CreateLogGroupInput) (*awslogs.CreateLogGroupOutput,
	error) {
	if val(in.DeletionProtectionEnabled) {
		return nil, notSimulated("deletionProtectionEnabled")
	}
	if err := checkTags(in.Tags); err != nil {
		return nil, err
	}
	return runStep(ctx, s, func(tx *world.Tx) (*awslogs.CreateLogGroupOutput, error) {
		if _, ok := tx.LogGroups.Get(*in.LogGroupName); ok {
			return nil, world.Refuse("ResourceAlreadyExistsException", "The specified log group already exists")
		}
		d := docOf(tx.AddLogGroup(*in.LogGroupName))
		maps.Copy(d.tags, in.Tags)
		if in.LogGroupClass != "" {
			d.class = in.LogGroupClass
		}
		if in.KmsKeyId != nil {
			d.key = ptr(*in.KmsKeyId)
		}
		return nil, nil
	})
}

// DeleteLogGroup deletes a group with all its events.
func (s *Service) DeleteLogGroup(ctx context.Context, in *awslogs.DeleteLogGroupInput) (*awslogs.DeleteLogGroupOutput,
	error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awslogs.DeleteLogGroupOutput, error) {
		g, err := groupNamed(tx, in.LogGroupName)
		if err != nil {
			return nil, err
		}
		tx.LogGroups.Delete(g.Name)
		tx.Log("log group", g.Name, "deleted")
		return nil, nil
	})
}

// DescribeLogGroups lists groups by name.
func (s *Service) DescribeLogGroups(ctx context.Context,
	in *awslogs.DescribeLogGroupsInput) (*awslogs.DescribeLogGroupsOutput, error) {
	switch {
	case in.LogGroupNamePrefix != nil && in.LogGroupNamePattern != nil:
		return nil, invalidParameter("logGroupNamePrefix and logGroupNamePattern must not both be given.")
	case val(in.IncludeLinkedAccounts) || len(in.AccountIdentifiers) > 0:
		return nil, notSimulated("includeLinkedAccounts")
	}
	return runStep(ctx, s, func(tx *world.Tx) (*awslogs.DescribeLogGroupsOutput, error) {
		page, next, err := wire.Page(selectGroups(tx, in), in.NextToken, int(val(in.Limit)), 50, 50,
			func(g *world.LogGroup) string { return g.Name })
		if err != nil {
			return nil, invalidParameter("The specified nextToken is invalid.")
		}
		out := &awslogs.DescribeLogGroupsOutput{LogGroups: []logstypes.LogGroup{}, NextToken: next}
		for _, g := range page {
			out.LogGroups = append(out.LogGroups, showGroup(tx, g))
		}
		return out, nil
	})
}

func selectGroups(tx *world.Tx, in *awslogs.DescribeLogGroupsInput) []*world.LogGroup {
	var list []*world.LogGroup
	for _, g := range tx.LogGroups.Values() {
		switch {
		case !strings.HasPrefix(g.Name, val(in.LogGroupNamePrefix)):
		case !strings.Contains(strings.ToLower(g.Name), strings.ToLower(val(in.LogGroupNamePattern))):
		case in.LogGroupClass != "" && in.LogGroupClass != docOf(g).class:
		case len(in.LogGroupIdentifiers) > 0 && !slices.Contains(in.LogGroupIdentifiers, g.Name) &&
			!slices.Contains(in.LogGroupIdentifiers, g.ARN):
		default:
			list = append(list, g)
		}
	}
	slices.SortFunc(list, func(a, b *world.LogGroup) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func showGroup(tx *world.Tx, g *world.LogGroup) logstypes.LogGroup {
	d := docOf(g)
	shown := logstypes.LogGroup{
		Arn: ptr(g.ARN + ":*"), LogGroupArn: ptr(g.ARN), LogGroupName: ptr(g.Name),
		CreationTime:  unixMillis(g.CreatedAt),
		LogGroupClass: d.class, MetricFilterCount: ptr(int32(0)), StoredBytes: ptr(storedBytes(tx, g)),
		DeletionProtectionEnabled: ptr(false),
	}
	if d.key != nil {
		shown.KmsKeyId = ptr(*d.key)
	}
	if g.RetentionDays > 0 {
		shown.RetentionInDays = ptr(int32(g.RetentionDays))
	}
	return shown
}

func storedBytes(tx *world.Tx, g *world.LogGroup) (n int64) {
	for _, s := range g.Streams.Values() {
		for _, e := range s.RetainedEvents(tx.Now()) {
			n += int64(eventSize(e.Message))
		}
	}
	return n
}

// retentionChoices are the days that a policy may name (API reference, PutRetentionPolicy).
var retentionChoices = []int32{1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557,
	2922, 3288, 3653}

// PutRetentionPolicy sets the number of days after which events are deleted.
func (s *Service) PutRetentionPolicy(ctx context.Context,
	in *awslogs.PutRetentionPolicyInput) (*awslogs.PutRetentionPolicyOutput, error) {
	if !slices.Contains(retentionChoices, val(in.RetentionInDays)) {
		return nil,
			invalidParameter("1 validation error detected: Value at 'retentionInDays' failed to satisfy constraint: "+
				"Member must be one of %v", retentionChoices)
	}
	return nil, s.setRetention(ctx, in.LogGroupName, int(*in.RetentionInDays))
}

// DeleteRetentionPolicy keeps events for ever.
func (s *Service) DeleteRetentionPolicy(ctx context.Context,
	in *awslogs.DeleteRetentionPolicyInput) (*awslogs.DeleteRetentionPolicyOutput, error) {
	return nil, s.setRetention(ctx, in.LogGroupName, 0)
}

func (s *Service) setRetention(ctx context.Context, name *string, days int) error {
	return s.world.Do(world.KeyOf(ctx), func(tx *world.Tx) error {
		g, err := groupNamed(tx, name)
		if err == nil {
			g.RetentionDays = days
		}
		return err
	})
}
