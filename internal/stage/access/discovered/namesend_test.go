package discovered_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"
	sdtypes "github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

var nameID = aws.String("srv-0123456789abcdef")

// eachInstance calls do with each instance of the name.
func eachInstance(b *stagetest.NameBench, do func(sdtypes.InstanceSummary)) {
	for _, i := range stagetest.Got(b.Discovery.ListInstances(context.Background(),
		&awssd.ListInstancesInput{ServiceId: nameID}))(b).Instances {
		do(i)
	}
}

func register(b *stagetest.NameBench, id string, attributes map[string]string) {
	stagetest.Got(b.Discovery.RegisterInstance(context.Background(), &awssd.RegisterInstanceInput{ServiceId: nameID,
		InstanceId: &id, Attributes: attributes}))(b)
}

func deregisterAll(b *stagetest.NameBench) {
	eachInstance(b, func(i sdtypes.InstanceSummary) {
		stagetest.Got(b.Discovery.DeregisterInstance(context.Background(),
			&awssd.DeregisterInstanceInput{ServiceId: nameID, InstanceId: i.Id}))(b)
	})
}

// A deployment ends well only if callers of the name get the version, whatever others did to its instances after the
// last stage.
func TestOutcomesAreAboutCallersOfTheName(t *testing.T) {
	address := map[string]string{"AWS_INSTANCE_IPV4": "10.0.0.250", "AWS_INIT_HEALTH_STATUS": "HEALTHY"}
	for name, c := range map[string]struct {
		act    func(*stagetest.NameBench)
		causes string // empty: it succeeds
		notes  string // of a success
	}{
		"nothing happens":       {func(*stagetest.NameBench) {}, "", ""},
		"all were deregistered": {deregisterAll, "no instance is registered under api.shop.local", ""},
		"an address of others": {func(b *stagetest.NameBench) { register(b, "by-hand", address) }, "",
			"instance by-hand under api.shop.local was not registered by ECS or sluice; it gets a part of the requests"},
		"of a task that has ended": {func(b *stagetest.NameBench) {
			register(b, "slc-1-"+strings.Repeat("0", 32), address)
		}, "get 5 instances, and 1 of tasks that stopped", ""},
		"only an address of others": {func(b *stagetest.NameBench) {
			register(b, "by-hand", address)
			eachInstance(b, func(i sdtypes.InstanceSummary) {
				if *i.Id != "by-hand" {
					stagetest.Got(b.Discovery.UpdateInstanceCustomHealthStatus(context.Background(),
						&awssd.UpdateInstanceCustomHealthStatusInput{ServiceId: nameID, InstanceId: i.Id, Status: "UNHEALTHY"}))(b)
				}
			})
		}, "get 1 instance, and none is of a task that runs it", ""},
		"registered again within the minute": {func(b *stagetest.NameBench) {
			all := map[string]map[string]string{}
			eachInstance(b, func(i sdtypes.InstanceSummary) { all[*i.Id] = i.Attributes })
			deregisterAll(b)
			b.Clock.Go(func() {
				stagetest.Must(b, b.Clock.Sleep(context.Background(), time.Minute))
				for id, attributes := range all {
					register(b, id, attributes)
				}
			})
		}, "", ""},
	} {
		for outcome, last := range map[sluice.Outcome]int{sluice.Succeeded: 1, sluice.RolledBack: 2} {
			t.Run(name+", "+string(outcome), func(t *testing.T) {
				stagetest.RunByName(t, stagetest.Named{}, func(b *stagetest.NameBench) {
					image := "sim/api:v2"
					if outcome == sluice.RolledBack {
						image = "sim/api:v2?noboot=true"
					}
					id := b.StartNamed(image, "")
					b.OnStageEnd(last, func() {
						c.act(b)
						stagetest.Must(b, b.Clock.Sleep(context.Background(), 45*time.Second)) // until Cloud Map follows
					})
					end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
					next := "aws servicediscovery discover-instances --namespace-name shop.local"
					if strings.HasPrefix(c.causes, "no instance") {
						next = "register the tasks again: sluice refresh"
					}
					switch {
					case c.causes == "" && (end.Outcome != outcome || !strings.Contains(end.Cause, c.notes)),
						c.causes != "" && (end.Outcome != sluice.Failed || !strings.Contains(end.Cause, c.causes) ||
							!strings.Contains(end.Next, next)):
						b.Errorf("%s: %s; next: %s\n%s", end.Outcome, end.Cause, end.Next, b.EventLog())
					}
				})
			})
		}
	}
}
