package discovered_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

func TestNamedFlows(t *testing.T) {
	for flow, pipeline := range map[string]string{"canary": stagetest.NamedCanary,
		"blue/green": stagetest.NamedBlueGreen,
		"quick sync": ""} {
		for _, o := range []stagetest.Named{{}, {TTL: time.Minute}, {Check: 5 * time.Second}, {Records: "SRV"}} {
			t.Run(fmt.Sprintf("%s %+v", flow, o), func(t *testing.T) {
				stagetest.RunByName(t, o, func(b *stagetest.NameBench) {
					end := stagetest.Got(b.Engine.Run(context.Background(), b.StartNamed("sim/api:v2", pipeline),
						engine.Options{}))(b)
					b.ExpectNamed(end, sluice.Succeeded, "", stagetest.NamedV2, "4 primary, 0 canary")
					b.ExpectNobodyLost()
				})
			})
		}
	}
}

// One answer that a name of Cloud Map does not exist is not believed either.
func TestOneAnswerThatANameIsGoneIsNotBelieved(t *testing.T) {
	for _, operation := range []string{"ListInstances", "DiscoverInstances", "GetInstancesHealthStatus"} {
		stagetest.DenyEachCall(t, operation, "ServiceNotFound", func(t *testing.T, n int) (reached bool) {
			stagetest.RunByName(t, stagetest.Named{Check: 5e9}, func(b *stagetest.NameBench) {
				id := b.StartNamed("sim/api:v2", stagetest.NamedCanary)
				denied := b.DenyCall(n, operation, "ServiceNotFound")
				b.ExpectNamed(stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b),
					sluice.Succeeded, "",
					stagetest.NamedV2, "4 primary, 0 canary")
				b.ExpectNobodyLost()
				reached = denied()
			})
			return reached
		})
	}
}
