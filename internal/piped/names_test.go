package piped_test

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"
)

const foundByName = `
namespaces: [{name: shop.local, kind: private, services: [{name: web, id: srv-0123456789abcdef, records: {A: 5s}, health: custom}]}]
services:
  - {name: web, cluster: prod, controller: EXTERNAL, count: 2, image: sim/web:v1, port: 80, registry: web.shop.local}
`

// A service that others find by a name goes through PipeCD's stages, with the key
// of PipeCD's RFC, and so does its rollback.
func TestServiceFoundByAName(t *testing.T) {
	t.Parallel()
	r := newRig(t, foundByName)
	app := appFile(pipeline)
	app = app[:strings.Index(app, "        targetGroups:")] + "        ecsAccessType: ECS_SERVICE_DISCOVERY\n" + app[strings.Index(app, "\n  pipeline:")+1:]
	service := serviceFile + "serviceRegistries: [{registryArn: \"arn:aws:servicediscovery:us-east-1:123456789012:service/srv-0123456789abcdef\"}]\n"
	d := r.begin(source{image: "sim/web:v1", app: app, service: service}, source{app: app, service: service}, stagesOf()...)
	for i, s := range d.forward() {
		d.run(s)
		if found := r.found(); i == 1 && found != "2 primary, 1 canary" {
			t.Errorf("after %s %s are found", s.GetName(), found)
		}
	}
	if found := r.found(); found != "2 primary, 0 canary" {
		t.Errorf("at the end %s are found", found)
	}
	d.run(d.back())
	if found := r.found(); found != "2 primary, 0 canary" || !strings.Contains(r.state(), "PRIMARY sim/web:v1 100% 2 running") {
		t.Errorf("after the rollback %s are found; %s", found, r.state())
	}
}

// found tells how many of ECS's instances and of ours are registered.
func (r *rig) found() string {
	r.Helper()
	out := got(awssd.NewFromConfig(r.sim.Config()).ListInstances(context.Background(), &awssd.ListInstancesInput{ServiceId: aws.String("srv-0123456789abcdef")}))(r)
	ours := 0
	for _, i := range out.Instances {
		if strings.HasPrefix(*i.Id, "slc-") {
			ours++
		}
	}
	return strings.NewReplacer("P", string(rune('0'+len(out.Instances)-ours)), "C", string(rune('0'+ours))).Replace("P primary, C canary")
}
