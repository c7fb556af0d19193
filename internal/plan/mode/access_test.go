package mode

import (
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

const noAccess = "input:|input:\n  accessType: NONE"

const rollsOut = `
pipeline:
  stages:
    - {name: ECS_CANARY_ROLLOUT, with: {scale: 50}}
    - {name: ECS_PRIMARY_ROLLOUT}
    - {name: ECS_CANARY_CLEAN}
`

// Who says that nobody calls a service is told who does.
func TestCallersOfAServiceWithoutAnAccessType(t *testing.T) {
	const connected = "serviceName: web|serviceName: web\nserviceConnectConfiguration: {enabled: true, namespace: " +
		"shop, services: [{portName: http}]}"
	for name, c := range map[string]struct {
		pipeline string
		edits    []string
		live     plan.AWSState
		warns    string // empty: nothing of the kind
	}{
		"nobody does": {rollsOut, []string{noAccess, ungrouped}, live(), ""},
		"a load balancer": {rollsOut, []string{noAccess}, live(),
			"the service has a load balancer: requests reach new tasks of the primary"},
		"a load balancer, without a pipeline": {"", []string{noAccess}, live(), ""},
		"a load balancer in AWS": {rollsOut, []string{noAccess, ungrouped}, live(inService(cloudMap), inGroup),
			"the service has a load balancer: requests reach new tasks of the primary"},
		"a name, of task sets": {rollsOut, []string{noAccess, ungrouped, awsvpc, registered},
			live(inService(cloudMap)),
			"callers of its name reach every new task, also of the canary, as soon as it runs"},
		"a name, of a service": {rollsOut, []string{noAccess, ungrouped, awsvpc, registered, "EXTERNAL|ECS"},
			rollingLive(inService(cloudMap)), "callers of its name reach new tasks of the primary as soon as they run"},
		"a name, in a quick sync": {"", []string{noAccess, ungrouped, awsvpc, registered, "EXTERNAL|ECS"},
			rollingLive(inService(cloudMap)), "To shift them, set accessType: SERVICE_DISCOVERY"},
		"Service Connect": {rollsOut, []string{noAccess, ungrouped, connected, "EXTERNAL|ECS"},
			rollingLive(), "callers use Service Connect"},
		"one that is steered is not": {threeSteps, []string{steersName, awsvpc, registered, ungrouped}, foundLive(),
			""},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Make(app(t, c.pipeline, c.edits...), c.live, Options{})
			if err != nil {
				t.Fatal(err)
			}
			all := strings.Join(p.Warnings, "\n")
			if told := strings.Contains(all, "sluice shifts no traffic"); told != (c.warns != "") ||
				!strings.Contains(all, c.warns) {
				t.Errorf("want a warning of %q:\n%s", c.warns, all)
			}
		})
	}
}

// The way to go on is named after what the service has.
func TestTheWayToSteerIsNamed(t *testing.T) {
	nowhere := live(inService(cloudMap))
	for name, c := range map[string]struct {
		format appfile.Format
		edits  []string
		live   plan.AWSState
		err    string
		next   string
	}{
		"no access, and a name": {edits: []string{noAccess, ungrouped, awsvpc, registered}, live: nowhere,
			err: "accessType is NONE, so there is no traffic to shift", next: "accessType: SERVICE_DISCOVERY"},
		"no access, and a load balancer": {edits: []string{noAccess}, live: live(),
			err: "accessType is NONE, so there is no traffic to shift", next: "accessType: ELB"},
		"no access, and nothing": {edits: []string{noAccess, ungrouped}, live: live(),
			err: "accessType is NONE, so there is no traffic to shift", next: "accessType: ELB or SERVICE_DISCOVERY"},
		"no group, and a name": {edits: []string{ungrouped, awsvpc, registered}, live: nowhere,
			err:  "accessType ELB needs a primary target group",
			next: "set accessType: SERVICE_DISCOVERY under input"},
		"no group": {edits: []string{ungrouped}, live: live(),
			err: "accessType ELB needs a primary target group", next: "name the target group"},
		"no group in PipeCD v0": {format: appfile.PipeCDv0, edits: []string{ungrouped}, live: live(),
			err: "stage 2 shifts traffic, but the file names no target group", next: "name the target group"},
		"no group in PipeCD v0, and a name": {format: appfile.PipeCDv0, edits: []string{ungrouped, awsvpc, registered},
			live: nowhere, err: "stage 2 shifts traffic, but the file names no target group",
			next: "set accessType: SERVICE_DISCOVERY under input"},
	} {
		t.Run(name, func(t *testing.T) {
			a := app(t, threeSteps, c.edits...)
			if c.format != "" {
				a.Format = c.format
			}
			_, err := Make(a, c.live, Options{})
			if err == nil || !strings.Contains(err.Error(), c.err) || !strings.Contains(sluice.NextStep(err), c.next) {
				t.Errorf("error %v\nnext %q\nwant %q, next %q", err, sluice.NextStep(err), c.err, c.next)
			}
		})
	}
}
