package discovered_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// rollingState tells what of a rolling service runs, and whether a canary stands beside it.
func rollingState(b *stagetest.NameBench) string {
	b.Helper()
	out := stagetest.Got(b.ECS.DescribeServices(context.Background(),
		&awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
			Services: []string{"api", "api-canary"}}))(b)
	text := ""
	for _, s := range out.Services {
		if *s.Status != "ACTIVE" {
			continue
		}
		td := stagetest.Got(b.ECS.DescribeTaskDefinition(context.Background(),
			&awsecs.DescribeTaskDefinitionInput{TaskDefinition: s.TaskDefinition}))(b)
		text += fmt.Sprintf("%s %s %d;", *s.ServiceName, *td.TaskDefinition.ContainerDefinitions[0].Image,
			s.RunningCount)
	}
	return text
}

const (
	rolledNamedV2 = "api sim/api:v2?term=80s 4;"
)

func expectRolledTo(b *stagetest.NameBench, end engine.RunResult, outcome sluice.Outcome, cause, want string) {
	b.Helper()
	if end.Outcome != outcome || rollingState(b) != want || b.Found() != "4 primary, 0 canary" {
		b.Errorf("%s (%s): %s %s; want %s: %s\n%s", end.Outcome, end.Cause, rollingState(b), b.Found(), outcome, want,
			b.EventLog())
	}
}

// The RFC's flows on an ordinary rolling service, with a canary service beside it.
// ECS stops old tasks itself and waits for no TTL: the image serves on.
func TestNamedFlowsBesideRolling(t *testing.T) {
	for flow, pipeline := range map[string]string{"canary": stagetest.NamedCanary,
		"blue/green": stagetest.NamedBlueGreen,
		"quick sync": ""} {
		for _, ttl := range []time.Duration{10 * time.Second, time.Minute} {
			t.Run(fmt.Sprintf("%s, TTL %s", flow, ttl), func(t *testing.T) {
				stagetest.RunByName(t, stagetest.Named{Controller: "ECS", TTL: ttl, Image: "?term=80s"},
					func(b *stagetest.NameBench) {
						end := stagetest.Got(b.Engine.Run(context.Background(),
							b.StartNamed("sim/api:v2?term=80s", pipeline),
							engine.Options{}))(b)
						expectRolledTo(b, end, sluice.Succeeded, "", rolledNamedV2)
						b.ExpectNobodyLost()
					})
			})
		}
	}
}

// In Blue/Green the old tasks are out of the name, and forgotten, before ECS stops
// them, whatever the image does about SIGTERM; in a canary flow they are not.
func TestNamedBlueGreenNeedsNoGraceOfTheImage(t *testing.T) {
	for flow, pipeline := range map[string]string{"canary": stagetest.NamedCanary,
		"blue/green": stagetest.NamedBlueGreen} {
		stagetest.RunByName(t, stagetest.Named{Controller: "ECS", TTL: time.Minute}, func(b *stagetest.NameBench) {
			end := stagetest.Got(b.Engine.Run(context.Background(), b.StartNamed("sim/api:v2", pipeline),
				engine.Options{}))(b)
			if end.Outcome != sluice.Succeeded {
				b.Fatalf("%s: %s %s\n%s", flow, end.Outcome, end.Cause, b.EventLog())
			}
			lost := 0.0
			for _, t := range b.Tallies {
				lost += t.Report().Failed
			}
			if (lost == 0) != (flow == "blue/green") {
				b.Errorf("%s: %.1f requests were lost", flow, lost)
			}
		})
	}
}
