package cloudformation_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	smithy "github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice/awssim/cloudformation"
	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

type stopped struct{}

func (stopped) Now() time.Time                             { return time.Unix(1_800_000_000, 0) }
func (stopped) Sleep(context.Context, time.Duration) error { return nil }

var here = world.Key{Account: "123456789012", Region: "eu-west-1"}

type site struct {
	*testing.T
	*wire.Server
	world *world.World
}

func newSite(t *testing.T) site {
	w := world.New(world.Options{Clock: stopped{}, Strict: true})
	return site{t, wire.New(w, cloudformation.NewAPI(w)), w}
}

// ask calls an operation that must succeed.
func ask[Out any](s site, operation string, in any) *Out {
	s.Helper()
	out, err := s.Call(world.WithKey(context.Background(), here), "CloudFormation", operation, in)
	if err != nil {
		s.Fatalf("%s %+v: %v", operation, in, err)
	}
	return out.(*Out)
}

func (s site) refused(operation string, in any, code, text string) {
	s.Helper()
	_, err := s.Call(world.WithKey(context.Background(), here), "CloudFormation", operation, in)
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != code || !strings.Contains(api.ErrorMessage(), text) {
		s.Errorf("%s %+v: %v, want %s with %q", operation, in, err, code, text)
	}
}

func seed(t *testing.T, s site, name string, outputs []cloudformation.Output) {
	t.Helper()
	err := s.world.Do(here, func(tx *world.Tx) error {
		cloudformation.AddStack(tx, name, outputs)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestOutputsOfStacks(t *testing.T) {
	s := newSite(t)
	seed(t, s, "network", []cloudformation.Output{{OutputKey: "VpcId", OutputValue: "vpc-1"}})
	seed(t, s, "other", nil)
	one := ask[cloudformation.DescribeStacksOutput](s, "DescribeStacks",
		&cloudformation.DescribeStacksInput{StackName: "network"})
	if len(one.Stacks) != 1 || one.Stacks[0].Outputs[0].OutputValue != "vpc-1" {
		t.Fatalf("%+v", one)
	}
	byID := ask[cloudformation.DescribeStacksOutput](s, "DescribeStacks",
		&cloudformation.DescribeStacksInput{StackName: one.Stacks[0].StackId})
	all := ask[cloudformation.DescribeStacksOutput](s, "DescribeStacks", &cloudformation.DescribeStacksInput{})
	if len(byID.Stacks) != 1 || len(all.Stacks) != 2 {
		t.Errorf("%+v %+v", byID, all)
	}
	s.refused("DescribeStacks", &cloudformation.DescribeStacksInput{StackName: "none"}, "ValidationError",
		"Stack with id none does not exist")
}

func TestExportsArePaged(t *testing.T) {
	s := newSite(t)
	var outputs []cloudformation.Output
	for i := range 130 {
		name := "export-" + strings.Repeat("x", i)
		outputs = append(outputs, cloudformation.Output{OutputKey: name, OutputValue: "v", ExportName: name})
	}
	seed(t, s, "many", append(outputs, cloudformation.Output{OutputKey: "NoExport", OutputValue: "v"}))
	first := ask[cloudformation.ListExportsOutput](s, "ListExports", &cloudformation.ListExportsInput{})
	if len(first.Exports) != 100 || first.NextToken == nil {
		t.Fatal(len(first.Exports), first.NextToken)
	}
	second := ask[cloudformation.ListExportsOutput](s, "ListExports",
		&cloudformation.ListExportsInput{NextToken: first.NextToken})
	if len(second.Exports) != 30 || second.NextToken != nil || second.Exports[29].Name != outputs[129].ExportName {
		t.Error(len(second.Exports), second.NextToken)
	}
	bad := "zzz"
	s.refused("ListExports", &cloudformation.ListExportsInput{NextToken: &bad}, "ValidationError", "NextToken")
}
