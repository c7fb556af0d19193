package discovered_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"
	sdtypes "github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// A name without records in DNS is found by DiscoverInstances alone; the flows are
// the same.
func TestNamedFlowsWithoutDNS(t *testing.T) {
	for flow, pipeline := range map[string]string{"canary": stagetest.NamedCanary,
		"blue/green": stagetest.NamedBlueGreen} {
		for _, controller := range []string{"EXTERNAL", "ECS"} {
			stagetest.RunByName(t, stagetest.Named{Kind: "http", Controller: controller, Image: "?term=80s"},
				func(b *stagetest.NameBench) {
					end := stagetest.Got(b.Engine.Run(context.Background(),
						b.StartNamed("sim/api:v2?term=80s", pipeline),
						engine.Options{}))(b)
					if end.Outcome != sluice.Succeeded || b.Found() != "4 primary, 0 canary" {
						b.Errorf("%s, %s: %s: %s; %s\n%s", flow, controller, end.Outcome, end.Cause, b.Found(),
							b.EventLog())
					}
					b.ExpectNobodyLost()
				})
		}
	}
}

// setUnhealthy sets the custom health of an instance as another actor would.
func setUnhealthy(b *stagetest.NameBench, id string) {
	b.Helper()
	stagetest.Got(b.Discovery.UpdateInstanceCustomHealthStatus(context.Background(),
		&awssd.UpdateInstanceCustomHealthStatusInput{ServiceId: aws.String(apiRegistry),
			InstanceId: aws.String(id), Status: sdtypes.CustomHealthStatusUnhealthy}))(b)
}

// Somebody says that the canary is UNHEALTHY: it is not found any more, and the
// deployment goes back with that reason.
func TestNamedCanaryThatIsSaidToBeUnhealthy(t *testing.T) {
	for _, controller := range []string{"EXTERNAL", "ECS"} {
		stagetest.RunByName(t, stagetest.Named{Controller: controller, Image: "?term=80s"},
			func(b *stagetest.NameBench) {
				ran := b.RunBeside(b.Engine, b.Start(b.NamedFiles("sim/api:v2",
					strings.Replace(namedWait, "scale: 50", "scale: 25",
						1))))
				b.Until("the wait", func() bool { return strings.Contains(b.EventLog(), "10m0s to pass") })
				for _, id := range instanceIDs(b, true) {
					setUnhealthy(b, id)
				}
				b.Until("it is over", func() bool { return ran.Done })
				if ran.Outcome != sluice.RolledBack ||
					!strings.Contains(ran.Cause, "its instance under api.shop.local is UNHEALTHY") ||
					b.Found() != "4 primary, 0 canary" {
					b.Errorf("%s: %s: %s; %s\n%s", controller, ran.Outcome, ran.Cause, b.Found(), b.EventLog())
				}
				b.ExpectNobodyLost()
			})
	}
}

// Another actor set an instance of the old primary UNHEALTHY, and ECS does not change that. A
// rollback that waited for it could never complete.
func TestNamedRollbackDoesNotWaitForAnInstanceSetUnhealthy(t *testing.T) {
	const pipeline = `
pipeline:
  stages:
    - {name: ECS_CANARY_ROLLOUT, with: {scale: 50}}
    - {name: ECS_TRAFFIC_ROUTING, with: {canary: 25}}
    - {name: WAIT, with: {duration: 10m}}
    - {name: ECS_PRIMARY_ROLLOUT%s}
    - {name: WAIT, with: {duration: 20m}}
    - {name: ECS_TRAFFIC_ROUTING, with: {primary: 100}}
    - {name: ECS_CANARY_CLEAN}
`
	for controller, with := range map[string]string{"EXTERNAL": ", with: {keepOld: true}", "ECS": ""} {
		stagetest.RunByName(t, stagetest.Named{Controller: controller, Image: "?term=80s"},
			func(b *stagetest.NameBench) {
				ran := b.RunBeside(b.Engine, b.Start(b.NamedFiles("sim/api:v2?term=80s",
					fmt.Sprintf(pipeline, with))))
				b.Until("the first wait", func() bool { return strings.Contains(b.EventLog(), "10m0s to pass") })
				setUnhealthy(b, instanceIDs(b, false)[0])
				b.Until("the second wait", func() bool { return strings.Contains(b.EventLog(), "20m0s to pass") })
				deregisterInstance(b, instanceIDs(b, true)[0])
				b.Until("it is over", func() bool { return ran.Done })
				if ran.Outcome != sluice.RolledBack || !strings.Contains(ran.Cause, "of the canary deregistered") {
					b.Errorf("%s: %s: %s; %s\n%s", controller, ran.Outcome, ran.Cause, b.Found(), b.EventLog())
				}
				b.ExpectNobodyLost()
			})
	}
}

// A task of the primary that is replaced while the primary is out of the name stays
// out, as soon as a look has seen it; and all are found again in the end.
func TestNamedTaskReplacedWhileItsVariantIsOut(t *testing.T) {
	for _, controller := range []string{"EXTERNAL", "ECS"} {
		stagetest.RunByName(t, stagetest.Named{Controller: controller, Image: "?term=80s", Check: 5 * time.Second},
			func(b *stagetest.NameBench) {
				ctx := context.Background()
				pipeline := strings.Replace(stagetest.NamedBlueGreen, "    - {name: ECS_PRIMARY_ROLLOUT}",
					"    - {name: WAIT, with: {duration: 10m}}\n    - {name: ECS_PRIMARY_ROLLOUT}", 1)
				ran := b.RunBeside(b.Engine, b.Start(b.NamedFiles("sim/api:v2", pipeline)))
				b.Until("the wait", func() bool { return strings.Contains(b.EventLog(), "10m0s to pass") })
				id, _ := hiddenTask(b)
				stagetest.Got(b.ECS.StopTask(ctx, &awsecs.StopTaskInput{Cluster: aws.String("prod"),
					Task: aws.String(id)}))(b)
				stagetest.Must(b, b.Clock.Sleep(ctx, 3*time.Minute))
				if b.Found() != "0 primary, 4 canary" ||
					!strings.Contains(b.EventLog(), "deregistered 1 new task of the primary from api.shop.local") {
					b.Errorf("%s: %s\n%s", controller, b.Found(), b.EventLog())
				}
				b.Until("it is over", func() bool { return ran.Done })
				if ran.Outcome != sluice.Succeeded || b.Found() != "4 primary, 0 canary" {
					b.Errorf("%s: %s: %s; %s\n%s", controller, ran.Outcome, ran.Cause, b.Found(), b.EventLog())
				}
				b.ExpectNobodyLost()
			})
	}
}
