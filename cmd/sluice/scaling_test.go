package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsaas "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	aastypes "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling/types"
	"github.com/rogpeppe/go-internal/testscript"
)

// autoscale registers a service as a scalable target, or changes it, as somebody
// else would.
func autoscale(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: autoscale cluster service min max [in] [out] [scheduled]")
	}
	lo, err := strconv.ParseInt(args[2], 10, 32)
	ts.Check(err)
	hi, err := strconv.ParseInt(args[3], 10, 32)
	ts.Check(err)
	has := func(word string) *bool { return aws.Bool(slices.Contains(args[4:], word)) }
	_, err = awsaas.NewFromConfig(theSim(ts).Config()).RegisterScalableTarget(context.Background(),
		&awsaas.RegisterScalableTargetInput{
			ServiceNamespace:  aastypes.ServiceNamespaceEcs,
			ScalableDimension: aastypes.ScalableDimensionECSServiceDesiredCount,
			ResourceId:        aws.String("service/" + args[0] + "/" + args[1]), MinCapacity: aws.Int32(int32(lo)),
			MaxCapacity: aws.Int32(int32(hi)),
			SuspendedState: &aastypes.SuspendedState{DynamicScalingInSuspended: has("in"),
				DynamicScalingOutSuspended: has("out"), ScheduledScalingSuspended: has("scheduled")}})
	ts.Check(err)
}

// targets writes the scalable targets as AWS describes them.
func targets(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: targets")
	}
	out, err := awsaas.NewFromConfig(theSim(ts).Config()).DescribeScalableTargets(context.Background(),
		&awsaas.DescribeScalableTargetsInput{ServiceNamespace: aastypes.ServiceNamespaceEcs})
	ts.Check(err)
	text, err := json.MarshalIndent(out.ScalableTargets, "", "  ")
	ts.Check(err)
	fmt.Fprintln(ts.Stdout(), string(text))
}
