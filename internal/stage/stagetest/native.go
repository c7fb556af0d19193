package stagetest

import (
	"context"
	"fmt"
	"testing"
	"testing/fstest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
)

// Strategies are ECS's own strategies, as deployment configurations of a service definition.
var Strategies = map[string]string{
	"BLUE_GREEN": "strategy: BLUE_GREEN, bakeTimeInMinutes: 5",
	"LINEAR":     "strategy: LINEAR, bakeTimeInMinutes: 3, linearConfiguration: {stepPercent: 50, stepBakeTimeInMinutes: 3}",
	"CANARY": "strategy: CANARY, bakeTimeInMinutes: 3, " +
		"canaryConfiguration: {canaryPercent: 20, canaryBakeTimeInMinutes: 3}",
}

// NativeFiles returns an application whose requests ECS shifts itself between the two target groups.
func (b *Bench) NativeFiles(image, configuration string) fstest.MapFS {
	advanced := fmt.Sprintf(", advancedConfiguration: {alternateTargetGroupArn: %q, productionListenerRule: %q, "+
		"roleArn: %q}", b.Canary, b.Rule, "arn:aws:iam::123456789012:role/infrastructure")
	return b.ecsFiles(image, advanced, fmt.Sprintf("deploymentConfiguration: {%s}\ndesiredCount: 4\n", configuration))
}

// RunNative runs f in a new world whose service serves v1, and whose requests ECS shifts itself.
func RunNative(t testing.TB, configuration string, f func(*Bench)) {
	t.Helper()
	Run(t, Options{NoService: true}, func(b *Bench) {
		end := b.Deploy(b.NativeFiles("sim/web:v1", configuration))
		if end.Outcome != sluice.Succeeded {
			b.Fatalf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
		}
		b.AttachCallers()
		b.Events, b.Calls = nil, nil
		f(b)
	})
}

// UntilStage lets virtual time pass until the newest deployment of the service is in a lifecycle stage of ECS.
func (b *Bench) UntilStage(stage string) {
	b.Helper()
	b.Until(stage, func() bool { return string(b.newestDeployment().LifecycleStage) == stage })
}

// FinishedAt returns when ECS ended the newest deployment of the service.
func (b *Bench) FinishedAt() time.Time {
	b.Helper()
	return aws.ToTime(b.newestDeployment().FinishedAt)
}

func (b *Bench) newestDeployment() ecstypes.ServiceDeployment {
	ctx := context.Background()
	all := Got(b.ECS.ListServiceDeployments(ctx, &awsecs.ListServiceDeploymentsInput{Cluster: aws.String("prod"),
		Service: aws.String("web")}))(b)
	return Got(b.ECS.DescribeServiceDeployments(ctx, &awsecs.DescribeServiceDeploymentsInput{
		ServiceDeploymentArns: []string{*all.ServiceDeployments[0].ServiceDeploymentArn}}))(b).ServiceDeployments[0]
}

// Sleep lets virtual time pass.
func (b *Bench) Sleep(d time.Duration) {
	b.Helper()
	Must(b, b.Clock.Sleep(context.Background(), d))
}
