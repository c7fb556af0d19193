package discovered_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// hostNames are the EC2 instances that the records of ECS's name; a record without one is
// told by its id.
func hostNames(b *stagetest.NameBench) (all []string) {
	b.Helper()
	out := stagetest.Got(b.Discovery.ListInstances(context.Background(),
		&awssd.ListInstancesInput{ServiceId: aws.String(apiRegistry)}))(b)
	for _, i := range out.Instances {
		switch host := i.Attributes["EC2_INSTANCE_ID"]; {
		case strings.HasPrefix(*i.Id, plan.IDPrefix):
		case host == "":
			all = append(all, *i.Id)
		default:
			all = append(all, host)
		}
	}
	return all
}

// Tasks of launch type EC2 with a network interface each are found as those on
// Fargate, there and back: a record of ECS's that was taken out names the EC2 instance
// again when it is put back.
func TestNamedFlowsOnEC2(t *testing.T) {
	for _, controller := range []string{"EXTERNAL", "ECS"} {
		for name, pipeline := range map[string]string{"canary": stagetest.NamedCanary,
			"blue/green": stagetest.NamedBlueGreen,
			"blue/green, back": strings.Replace(stagetest.NamedBlueGreen,
				"    - {name: ECS_PRIMARY_ROLLOUT}",
				"    - {name: WAIT, with: {duration: 10m}}\n    - {name: ECS_PRIMARY_ROLLOUT}", 1)} {
			stagetest.RunByName(t, stagetest.Named{Controller: controller, Image: "?term=80s", Launch: "EC2"},
				func(b *stagetest.NameBench) {
					files := b.NamedFiles("sim/api:v2?term=80s", pipeline)
					id, want := b.Start(files), sluice.Succeeded
					if strings.Contains(name, "back") {
						want = sluice.RolledBack
						b.Clock.Go(func() {
							_ = b.Clock.Sleep(context.Background(), 5*time.Minute)
							stagetest.Must(b, b.Engine.SendCommand(context.Background(), id, "rollback", 0, "ann"))
						})
					}
					end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
					if end.Outcome != want || b.Found() != "4 primary, 0 canary" {
						b.Errorf("%s, %s: %s: %s; %s\n%s", controller, name, end.Outcome, end.Cause, b.Found(),
							b.EventLog())
					}
					for _, host := range hostNames(b) {
						if !strings.HasPrefix(host, "i-") {
							b.Errorf("%s, %s: record %s names no EC2 instance", controller, name, host)
						}
					}
					b.ExpectNobodyLost()
				})
		}
	}
}
