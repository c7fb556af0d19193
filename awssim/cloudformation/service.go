// Package cloudformation implements the part of the API of AWS CloudFormation that lookups need: the outputs and
// exports of stacks are read. A world file has the stacks; they create no resources.
//
// Its inputs and outputs are small structs of its own. Start reading at [NewAPI], then [Service.DescribeStacks].
package cloudformation

import (
	"context"
	"time"

	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// exportsPerPage is how many exports a page of ListExports has (API reference).
const exportsPerPage = 100

// Service implements the API of CloudFormation.
type Service struct{ world *world.World }

// New creates the API over w.
func New(w *world.World) *Service { return &Service{world: w} }

// NewAPI returns the API in the form that wire serves.
func NewAPI(w *world.World) wire.API {
	return wire.API{
		Name: "cloudformation", ServiceID: "CloudFormation", Protocol: wire.Query, Version: "2010-05-15",
		Namespace: "http://cloudformation.amazonaws.com/doc/2010-05-15/", Service: New(w),
		Known: []string{"CreateStack", "DeleteStack", "DescribeStackResources", "ListImports", "ListStacks", "UpdateStack"},
	}
}

// state holds the stacks of a Region.
type state struct{ stacks world.Ordered[*Stack] } // by name

// Stack is a stack as described.
type Stack struct {
	StackId, StackName, StackStatus string
	CreationTime                    time.Time
	Outputs                         []Output
}

// Output is an output of a stack. One with an ExportName is an export.
type Output struct{ OutputKey, OutputValue, ExportName string }

// Export is an export as listed.
type Export struct{ ExportingStackId, Name, Value string }

func stateOf(tx *world.Tx) *state { return world.PrivateState[state](tx.Region, "cloudformation") }

// AddStack adds a stack with outputs.
func AddStack(tx *world.Tx, name string, outputs []Output) {
	id := tx.ARN("cloudformation", "stack/"+name+"/"+tx.NewUUID("stack"))
	stateOf(tx).stacks.Put(name, &Stack{StackId: id, StackName: name, StackStatus: "CREATE_COMPLETE",
		CreationTime: tx.Now(), Outputs: outputs})
}

// DescribeStacksInput is the input of DescribeStacks.
type DescribeStacksInput struct{ StackName, NextToken string }

// DescribeStacksOutput is the output of DescribeStacks.
type DescribeStacksOutput struct{ Stacks []Stack }

// DescribeStacks returns a stack by its name or ID, or all stacks.
func (s *Service) DescribeStacks(ctx context.Context, in *DescribeStacksInput) (*DescribeStacksOutput, error) {
	out := &DescribeStacksOutput{Stacks: []Stack{}}
	err := s.world.Do(world.KeyOf(ctx), func(tx *world.Tx) error {
		for _, x := range stateOf(tx).stacks.Values() {
			if in.StackName == "" || in.StackName == x.StackName || in.StackName == x.StackId {
				out.Stacks = append(out.Stacks, *x)
			}
		}
		if in.StackName != "" && len(out.Stacks) == 0 {
			return world.Refuse("ValidationError", "Stack with id %s does not exist", in.StackName)
		}
		return nil
	})
	return out, err
}

// ListExportsInput is the input of ListExports.
type ListExportsInput struct{ NextToken *string }

// ListExportsOutput is the output of ListExports.
type ListExportsOutput struct {
	Exports   []Export
	NextToken *string
}

// ListExports returns the exports of all stacks.
func (s *Service) ListExports(ctx context.Context, in *ListExportsInput) (out *ListExportsOutput, err error) {
	err = s.world.Do(world.KeyOf(ctx), func(tx *world.Tx) error {
		var all []Export
		for _, x := range stateOf(tx).stacks.Values() {
			for _, o := range x.Outputs {
				if o.ExportName != "" {
					all = append(all, Export{ExportingStackId: x.StackId, Name: o.ExportName, Value: o.OutputValue})
				}
			}
		}
		page, next, err := wire.Page(all, in.NextToken, 0, exportsPerPage, exportsPerPage,
			func(e Export) string { return e.Name })
		if err != nil {
			return world.Refuse("ValidationError", "Invalid NextToken")
		}
		out = &ListExportsOutput{Exports: page, NextToken: next}
		return nil
	})
	return out, err
}
