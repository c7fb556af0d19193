package revision_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// activeRevisions are the revisions of the family that are ACTIVE.
func activeRevisions(b *stagetest.Bench) string {
	b.Helper()
	out := stagetest.Got(b.ECS.ListTaskDefinitions(context.Background(),
		&awsecs.ListTaskDefinitionsInput{FamilyPrefix: aws.String("web")}))(b)
	var all []string
	for _, arn := range out.TaskDefinitionArns {
		all = append(all, sluice.RevisionOf(arn))
	}
	return strings.Join(all, " ")
}

// Old task definitions are deregistered only where the file asks for it, only if
// sluice registered them, and only if nothing runs them; what served before stays.
func TestOldTaskDefinitions(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		ctx := context.Background()
		deploy := func(files fstest.MapFS) engine.RunResult {
			end := b.Deploy(files)
			if end.Outcome != sluice.Succeeded {
				b.Fatalf("%s: %s", end.Outcome, end.Cause)
			}
			return end
		}
		deploy(b.Files("sim/web:v2", ""))
		for v := 3; v <= 6; v++ {
			deploy(b.FilesThatKeep(fmt.Sprintf("sim/web:v%d", v), 3))
			if v == 3 {
				stagetest.Got(b.ECS.RunTask(ctx, &awsecs.RunTaskInput{Cluster: aws.String("prod"),
					TaskDefinition: aws.String("web:3"), NetworkConfiguration: b.Network(),
					ClientToken: aws.String("x")}))(b)
			}
		}
		if now := activeRevisions(b); now != "web:1 web:2 web:3 web:4 web:5 web:6" {
			b.Errorf("ACTIVE: %s", now) // 1 and 2 are not signed, 3 runs, 4 to 6 are the newest
		}
		deploy(b.FilesThatKeep("sim/web:v7", 3))
		end := deploy(b.FilesThatKeep("sim/web:v8", 3))
		if now := activeRevisions(b); now != "web:1 web:2 web:3 web:6 web:7 web:8" {
			b.Errorf("ACTIVE: %s\n%s", now, b.EventLog())
		}
		stagetest.Must(b, b.Engine.Reopen(ctx, end.ID))
		stagetest.Must(b, b.Engine.SendCommand(ctx, end.ID, journal.Rollback, 0, "ann"))
		if end := stagetest.Got(b.Engine.Run(ctx, end.ID, engine.Options{}))(b); end.Outcome != sluice.RolledBack ||
			activeRevisions(b) != "web:1 web:2 web:3 web:6 web:7 web:8" {
			b.Errorf("%s: %s; ACTIVE: %s", end.Outcome, end.Cause, activeRevisions(b))
		}
	})
}
