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
)

// hosts are the EC2 instances that the records of ECS's name; a record without one is
// told by its id.
func (b *nameBench) hosts() (all []string) {
	b.Helper()
	out := got(b.Discovery.ListInstances(context.Background(),
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
		for name, pipeline := range map[string]string{"canary": namedCanary, "blue/green": namedBlueGreen,
			"blue/green, back": strings.Replace(namedBlueGreen,
				"    - {name: ECS_PRIMARY_ROLLOUT}",
				"    - {name: WAIT, with: {duration: 10m}}\n    - {name: ECS_PRIMARY_ROLLOUT}", 1)} {
			byName(t, named{Controller: controller, Image: "?term=80s", Launch: "EC2"}, func(b *nameBench) {
				files := b.NamedFiles("sim/api:v2?term=80s", pipeline)
				id, want := b.Start(files), sluice.Succeeded
				if strings.Contains(name, "back") {
					want = sluice.RolledBack
					b.Clock.Go(func() {
						_ = b.Clock.Sleep(context.Background(), 5*time.Minute)
						must(b, b.Engine.SendCommand(context.Background(), id, "rollback", 0, "ann"))
					})
				}
				end := got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
				if end.Outcome != want || b.Found() != "4 primary, 0 canary" {
					b.Errorf("%s, %s: %s: %s; %s\n%s", controller, name, end.Outcome, end.Cause, b.Found(),
						b.EventLog())
				}
				for _, host := range b.hosts() {
					if !strings.HasPrefix(host, "i-") {
						b.Errorf("%s, %s: record %s names no EC2 instance", controller, name, host)
					}
				}
				b.ExpectNobodyLost()
			})
		}
	}
}
