package rolling_test

import (
	"bytes"
	"context"
	"testing"
	"testing/fstest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan/history"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
	"github.com/sluice-ecs/sluice/internal/survey"
)

// connectedFiles are the files of a version that adds Service Connect, which AWS accepts only with its task definition.
func connectedFiles(b *stagetest.Bench) fstest.MapFS {
	files := b.RollingFiles("sim/web:v2", stagetest.Breaker+
		"serviceConnectConfiguration: {enabled: true, namespace: shop.local, services: [{portName: http}]}\n")
	task := bytes.Replace(files["taskdef.yaml"].Data, []byte("{containerPort: 8080}"),
		[]byte("{containerPort: 8080, name: http}"), 1)
	files["taskdef.yaml"] = &fstest.MapFile{Data: task}
	return files
}

// A version without Service Connect replaces one with it: UpdateService keeps a configuration that a request lacks.
func TestServiceConnectIsRemovedWithItsVersion(t *testing.T) {
	ctx := context.Background()
	for name, back := range map[string]func(b *stagetest.Bench, id string) engine.RunResult{
		"the deployment is rolled back": func(b *stagetest.Bench, id string) engine.RunResult {
			stagetest.Must(b, b.Engine.Reopen(ctx, id))
			stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
			return stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		},
		"by the history of AWS": func(b *stagetest.Bench, _ string) engine.RunResult {
			live, to, err := survey.ReadRollbackInputs(ctx, b.Account, b.Clock, "prod", "web", "")
			stagetest.Must(b, err)
			p := stagetest.Got(history.MakeReturn("prod", live, to))(b)
			id := stagetest.Got(b.Engine.Start(ctx, p, engine.TriggerManual))(b)
			return stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		},
		"files without it": func(b *stagetest.Bench, _ string) engine.RunResult {
			return b.Deploy(b.RollingFiles("sim/web:v1", stagetest.Breaker))
		},
	} {
		t.Run(name, func(t *testing.T) {
			stagetest.RunRolling(t, func(b *stagetest.Bench) {
				b.CreateRegistry() // its namespace is shop.local
				id := b.Start(connectedFiles(b))
				if end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b); end.Outcome != sluice.Succeeded {
					b.Fatalf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
				}
				stagetest.Must(b, b.Clock.Sleep(ctx, time.Minute))
				end := back(b, id)
				d := stagetest.Got(b.ECS.DescribeServices(ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
					Services: []string{"web"}}))(b).Services[0].Deployments[0]
				if end.Outcome != sluice.Succeeded && end.Outcome != sluice.RolledBack || d.ServiceConnectConfiguration != nil ||
					b.RollingState() != stagetest.RolledV1 {
					b.Errorf("%s: %s; %s; Service Connect: %+v\n%s", end.Outcome, end.Cause, b.RollingState(),
						d.ServiceConnectConfiguration, b.EventLog())
				}
				b.ExpectNoneLost()
			})
		})
	}
}
