package mode

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// withLeftovers is a service with everything that an earlier deployment can leave.
func withLeftovers(l *plan.AWSState) {
	l.Claim = "slc-lost until=2030-01-01T00:00:00Z"
	l.TaskSets = append(l.TaskSets,
		sluice.TaskSet{ID: "ecs-svc/2", Status: "ACTIVE", Revision: "web:2", ExternalID: plan.IDPrefix + "lost",
			Running: 2, TargetGroup: canary},
		sluice.TaskSet{ID: "ecs-svc/3", Status: "ACTIVE", Revision: "web:3", Running: 1, TargetGroup: primary})
	l.Steered[0].Forward[1].Weight = 10
	l.LeftRecords, l.Registry = 2, &plan.Registry{ARN: "registry", Name: "web", Namespace: "shop"}
	l.Foreign = []plan.ExternalTarget{{ID: "10.0.0.9", Group: "web-primary", State: "healthy"}}
	l.Beside = &ecstypes.Service{Status: aws.String("ACTIVE"), ServiceName: aws.String("web-canary"),
		Tags: []ecstypes.Tag{{Key: aws.String(plan.CanaryTag), Value: aws.String(plan.IDPrefix + "lost")}}}
}

// Each place that makes changes says what they do.
func TestEveryChangeHasItsKind(t *testing.T) {
	lost := live(withLeftovers)
	removing := func(a *appfile.Application) *appfile.Application {
		a.OnOtherTargets = sluice.RemoveTargets
		return a
	}
	made := func(a *appfile.Application, l plan.AWSState, o Options) []plan.Change {
		p, err := Make(a, l, o)
		if err != nil {
			t.Fatal(err)
		}
		return p.Changes
	}
	ran := func() []plan.Change {
		p, err := MakeRun(job(t, alonePart, ""), live(), RunOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return p.Changes
	}
	same, rolling := app(t, threeSteps, "v2|v1"), app(t, "", "v2|v1", "EXTERNAL|ECS", "canary: {|#")
	restarted := made(rolling, rollingLive(), Options{Restart: "stuck"})
	adopted := leftoverChanges(&plan.Plan{Hosting: appfile.TaskSets}, removing(app(t, threeSteps)), lost,
		Options{Adopt: true})
	for name, c := range map[string]struct {
		changes []plan.Change
		of      string
		path    string
		want    plan.ChangeKind
	}{
		"another image":        {made(app(t, threeSteps), live(), Options{}), "task definition", "image", plan.Alters},
		"a task that runs":     {ran(), "task", "run", plan.Adds},
		"forced":               {made(rolling, rollingLive(), Options{Force: true}), "service", "forceNew", plan.Adds},
		"restarted":            {restarted, "service", "deployment", plan.Alters},
		"a lost claim":         {adopted, plan.LeftoverKind, plan.ClaimTag, plan.Alters},
		"a lost canary":        {adopted, plan.LeftoverKind, "task set ecs-svc/2", plan.Removes},
		"another task set":     {adopted, plan.LeftoverKind, "task set ecs-svc/3", plan.Removes},
		"lost records":         {adopted, plan.LeftoverKind, "instances", plan.Removes},
		"a lost weight":        {adopted, plan.LeftoverKind, "traffic", plan.Alters},
		"a lost service":       {adopted, plan.LeftoverKind, "canary service", plan.Removes},
		"a foreign task set":   {ChangesOutsideFiles(same, lost), "task set", "ecs-svc/3", plan.Removes},
		"a foreign target":     {ChangesOutsideFiles(same, lost), "target", "10.0.0.9", plan.Removes},
		"a canary with weight": {ChangesOutsideFiles(same, lost), "traffic", "", plan.Alters},
	} {
		t.Run(name, func(t *testing.T) {
			for _, change := range c.changes {
				if change.Of == c.of && strings.Contains(change.Path, c.path) {
					if change.Kind != c.want {
						t.Errorf("kind %q, want %q: %+v", change.Kind, c.want, change)
					}
					return
				}
			}
			t.Errorf("no change of %s %s in %+v", c.of, c.path, c.changes)
		})
	}
}
