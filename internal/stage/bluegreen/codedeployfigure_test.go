package bluegreen_test

import (
	"context"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// swift is a world in which a deployment of CodeDeploy takes about 25 s.
func swift() *world.Settings {
	k, s := world.DefaultSettings(), time.Second
	k.Provisioning, k.Pending, k.Activating = world.Range{Min: 3 * s, Max: 5 * s}, world.Range{Min: 2 * s, Max: 4 * s},
		world.Range{Min: 2 * s, Max: 4 * s}
	k.SchedulerLoop, k.TargetRegistration, k.FirstCheck = world.Range{Min: s, Max: 2 * s},
		world.Range{Min: s / 2, Max: s}, world.Range{}
	k.LoadBalancerProvisioning, k.DeployStep, k.WeightPropagation = world.Range{}, world.Range{Min: s / 2, Max: 2 * s},
		world.Range{Max: s}
	return &k
}

// The figures that are promised: a whole deployment of 25 s, its plan included, in
// at most 20 calls, and its end known within 2 s of it; medians of 21 worlds.
func TestFigureCodeDeployCallsAndLag(t *testing.T) {
	var calls []int
	var lags, took []time.Duration
	for seed := range uint64(21) {
		stagetest.Run(t, stagetest.Options{NoService: true, Settings: swift(), Seed: seed + 1},
			func(b *stagetest.Bench) {
				if end := b.Deploy(shiftFiles(b, "sim/web:v1", "desiredCount: 4\n")); end.Outcome != sluice.Succeeded {
					b.Fatalf("%s: %s", end.Outcome, end.Cause)
				}
				createShop(b, shop{})
				b.AttachCallers()
				b.Events, b.Calls = nil, nil
				files := shiftFiles(b, "sim/web:v2", "")
				named := append(slices.Clone(files["sluice.yaml"].Data),
					"codedeploy: {applicationName: shop, deploymentGroupName: web}\n"...)
				files["sluice.yaml"] = &fstest.MapFile{Data: named}
				if end := b.Deploy(files); end.Outcome != sluice.Succeeded {
					b.Fatalf("%s: %s", end.Outcome, end.Cause)
				}
				known := b.Clock.Now()
				calls = append(calls, len(b.Calls))
				id := stagetest.Got(codeDeployClient(b).ListDeployments(context.Background(),
					&awscd.ListDeploymentsInput{}))(b).Deployments[0]
				d := stagetest.Got(codeDeployClient(b).GetDeployment(context.Background(),
					&awscd.GetDeploymentInput{DeploymentId: aws.String(id)}))(b).DeploymentInfo
				lags = append(lags, known.Sub(*d.CompleteTime))
				took = append(took, d.CompleteTime.Sub(*d.CreateTime))
				b.ExpectNoneLost()
			})
	}
	slices.Sort(calls)
	slices.Sort(lags)
	slices.Sort(took)
	t.Logf("median of %d: %d calls (most %d), known %s after the end (most %s), deployments of %s (longest %s)",
		len(calls), calls[10], calls[20], lags[10], lags[20], took[10], took[20])
	if calls[10] > 20 || lags[10] > 2*time.Second {
		t.Errorf("calls %v\nlags %v\ntook %v", calls, lags, took)
	}
}
