package watch_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// register adds the name web.shop.local to a service, and returns the client and the id of the name.
func (b *bench) register(service string) (*awssd.Client, *string) {
	b.Helper()
	ctx := context.Background()
	api := awssd.NewFromConfig(b.sim.Config())
	made := got(api.CreateHttpNamespace(ctx, &awssd.CreateHttpNamespaceInput{Name: aws.String("shop.local")}))(b)
	b.sleep(time.Minute)
	o := got(api.GetOperation(ctx, &awssd.GetOperationInput{OperationId: made.OperationId}))(b).Operation
	s := got(api.CreateService(ctx, &awssd.CreateServiceInput{Name: aws.String("web"),
		NamespaceId: aws.String(o.Targets["NAMESPACE"])}))(b).Service
	got(b.ecs.UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"), Service: &service,
		ServiceRegistries: []ecstypes.ServiceRegistry{{RegistryArn: s.Arn}}}))(b)
	b.until("the name is set", func() bool { return len(b.service(service).Deployments) == 1 })
	return api, s.Id
}

// A wait succeeds only if callers of the name of the service get the revision, with a load balancer and without one.
func TestSuccessIsAboutCallersOfTheName(t *testing.T) {
	const empty = "web:2 serves, 2 of 2 running, but no instance is registered under web.shop.local"
	const deleted = "web:2 serves, 2 of 2 running, but the Cloud Map service srv-"
	for _, c := range []struct {
		name     string
		balanced bool
		empties  bool
		deletes  bool
		fault    string
		outcome  sluice.Outcome
		callers  verdict.Callers
		detail   string
		unread   string
	}{
		{"served", true, false, false, "", sluice.Succeeded, verdict.CallersServed, "web:2 serves", ""},
		{"no instances", true, true, false, "", sluice.Failed, verdict.CallersServed, empty, ""},
		{"only a name", false, false, false, "", sluice.Succeeded, verdict.CallersServed, "web:2 serves", ""},
		{"only a name without instances", false, true, false, "", sluice.Failed, verdict.CallersNone, empty, ""},
		{"a deleted name", true, true, true, "", sluice.Failed, verdict.CallersServed, deleted, ""},
		{"only a deleted name", false, true, true, "", sluice.Failed, verdict.CallersNone, deleted, ""},
		{"no permission", true, true, false, "denied servicediscovery:*", sluice.Succeeded, verdict.CallersServed, "web:2 serves",
			"callers of the Cloud Map name were not checked: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			on(t, options{}, func(b *bench) {
				if c.balanced {
					b.balance()
				}
				b.serve("web", b.revision("sim/web:v1"), rolling{desired: 2, breaker: true, rollback: true})
				api, id := b.register("web")
				b.deploy("web", b.revision("sim/web:v2"))
				b.until("only new tasks run", func() bool { return len(b.service("web").Deployments) == 1 })
				if ctx := context.Background(); c.empties {
					for _, i := range got(api.ListInstances(ctx, &awssd.ListInstancesInput{ServiceId: id}))(b).Instances {
						got(api.DeregisterInstance(ctx, &awssd.DeregisterInstanceInput{ServiceId: id, InstanceId: i.Id}))(b)
					}
					b.sleep(time.Minute)
				}
				if c.deletes {
					got(api.DeleteService(context.Background(), &awssd.DeleteServiceInput{Id: id}))(b)
				}
				if c.fault != "" {
					must(b, b.sim.Inject(c.fault))
				}
				v := b.wait("web", verdict.Wanted{Timeout: time.Hour})
				if v.Outcome != c.outcome || v.Callers != c.callers || !strings.Contains(v.Detail, c.detail) ||
					!strings.Contains(strings.Join(v.Unread, "; "), c.unread) {
					t.Errorf("%s, callers %q: %s; unread: %s\n%s", v.Outcome, v.Callers, v.Detail, v.Unread, b.story())
				}
				if c.outcome == sluice.Failed && !strings.Contains(v.Next, "aws servicediscovery ") {
					t.Errorf("next: %s", v.Next)
				}
			})
		})
	}
}
