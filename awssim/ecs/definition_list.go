package ecs

import (
	"context"
	"slices"
	"strings"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// ListTaskDefinitions lists ARNs by family and revision, 100 at a time. It lists ACTIVE revisions
// unless another status is requested. familyPrefix is a full family name, as on AWS.
func (s *Service) ListTaskDefinitions(ctx context.Context,
	in *awsecs.ListTaskDefinitionsInput) (*awsecs.ListTaskDefinitionsOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.ListTaskDefinitionsOutput, error) {
		status := string(in.Status)
		if status == "" {
			status = "ACTIVE"
		}
		var arns []string
		for _, f := range sortedFamilies(tx) {
			if p := val(in.FamilyPrefix); p != "" && p != f.name {
				continue
			}
			for _, d := range f.revs {
				if d.Status == status {
					arns = append(arns, d.ARN)
				}
			}
		}
		if in.Sort == "DESC" {
			slices.Reverse(arns)
		}
		page, next, err := pageOf(arns, in.NextToken, int(val(in.MaxResults)), 100)
		return &awsecs.ListTaskDefinitionsOutput{TaskDefinitionArns: page, NextToken: next}, err
	})
}

func sortedFamilies(tx *world.Tx) []*family {
	all := stateOf(tx).families.Values()
	slices.SortFunc(all, func(a, b *family) int { return strings.Compare(a.name, b.name) })
	return all
}

// ListTaskDefinitionFamilies lists names that begin with a prefix, 100 at a time. ACTIVE selects
// families with an ACTIVE revision, INACTIVE those without. ALL, the default, selects both.
func (s *Service) ListTaskDefinitionFamilies(ctx context.Context,
	in *awsecs.ListTaskDefinitionFamiliesInput) (*awsecs.ListTaskDefinitionFamiliesOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.ListTaskDefinitionFamiliesOutput, error) {
		var names []string
		for _, f := range sortedFamilies(tx) {
			active := f.newestActive() != nil
			unwanted := in.Status == "ACTIVE" && !active || in.Status == "INACTIVE" && active
			if !unwanted && strings.HasPrefix(f.name, val(in.FamilyPrefix)) {
				names = append(names, f.name)
			}
		}
		page, next, err := pageOf(names, in.NextToken, int(val(in.MaxResults)), 100)
		return &awsecs.ListTaskDefinitionFamiliesOutput{Families: page, NextToken: next}, err
	})
}
