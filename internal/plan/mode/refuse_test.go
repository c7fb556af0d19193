package mode

import (
	"strings"
	"testing"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
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
