package mode

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// A number of tasks is refused for a DAEMON service, before ECS refuses it.
func TestDaemonHasNoDesiredCount(t *testing.T) {
	n := 3
	for strategy, want := range map[string]string{"DAEMON": "it cannot have 3 tasks", "REPLICA": ""} {
		app := &appfile.Application{Service: &definition.Service{Input: &awsecs.CreateServiceInput{}}}
		app.Service.Input.SchedulingStrategy = ecstypes.SchedulingStrategy(strategy)
		if err := refuseCount(app, Options{}); err != nil {
			t.Errorf("%s without a count: %v", strategy, err)
		}
		err := refuseCount(app, Options{Tasks: &n})
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", strategy, err)
		}
	}
}

// More tasks than the quota are refused, unless the service shows that the account has a higher one.
func TestTasksBeyondTheQuotaAreRefused(t *testing.T) {
	for _, c := range []struct {
		tasks, file, now int
		want, next       string
	}{
		{tasks: 5000, now: 4},
		{tasks: 5001, now: 4, want: "5001 tasks are more than 5000", next: "aws ecs update-service --cluster prod --service web"},
		{tasks: 6000, now: 5001},
		{file: 6000, now: 4, want: "6000 tasks are more than 5000", next: "--desired-count 6000"},
		{file: 6000, now: -1, want: "6000 tasks are more than 5000", next: "use 5000 or less, or several services"},
		{tasks: 3, file: 6000, now: 4},
		{now: 4},
	} {
		app := &appfile.Application{Cluster: "prod",
			Service: &definition.Service{Input: &awsecs.CreateServiceInput{ServiceName: aws.String("web")}}}
		if c.file > 0 {
			app.Service.Input.DesiredCount = aws.Int32(int32(c.file))
		}
		o, live := Options{}, plan.AWSState{}
		if c.tasks > 0 {
			o.Tasks = &c.tasks
		}
		if c.now >= 0 {
			live.Service = &ecstypes.Service{Status: aws.String("ACTIVE"), DesiredCount: int32(c.now)}
		}
		err := refuseManyTasks(app, live, o)
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(sluice.NextStep(err), c.next) {
			t.Errorf("%+v: %v, next %q", c, err, sluice.NextStep(err))
		}
	}
}
