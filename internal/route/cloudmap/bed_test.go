package cloudmap_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"
	"github.com/aws/smithy-go/middleware"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/route"
	"github.com/sluice-ecs/sluice/internal/route/cloudmap"
)

const (
	registry   = "srv-0123456789abcdef"
	deployment = "slc-0001"
)

// layout is the world of a test: how many tasks, and how they are found.
type layout struct {
	primary, canary int
	records         string // "{A: 10s}"; "{SRV: 10s}"
	health          string // custom; or none
	kind            string // of the namespace: private, http
	port            int32  // of SRV records
	knobs           string
}

func (l layout) file() string {
	if l.records != "" {
		l.records = ", records: " + l.records
	}
	return fmt.Sprintf(`
account: "123456789012"
region: us-east-1
clusters: [prod]
namespaces:
  - name: shop.local
    kind: %s
    id: ns-0123456789abcdef
    services: [{name: api, id: %s, health: %s%s}]
services:
  - {name: api, cluster: prod, controller: ECS, count: %d, image: "sim/api:v1", port: 8080, registry: api.shop.local}
  - {name: api-canary, cluster: prod, controller: ECS, count: %d, image: "sim/api:v2", port: 8080}
knobs: {%s}
`, l.kind, "srv-0123456789abcdef", l.health, l.records, l.primary, l.canary, l.knobs)
}

// bed is a name with a primary that ECS registers and a canary beside it.
type bed struct {
	*testing.T
	clock  *clock.Virtual
	sim    *awssim.Sim
	ecs    *awsecs.Client
	sd     *awssd.Client
	reg    plan.Registry
	taken  map[string]map[string]string // as it was saved
	writes int
	tokens int
}

func usual() layout {
	return layout{primary: 4, canary: 4, records: "{A: 10s}", health: "custom", kind: "private"}
}

func on(t *testing.T, l layout, f func(*bed)) {
	t.Helper()
	v := clock.NewVirtual(time.Now().Add(24 * time.Hour))
	v.Run(func() {
		sim, err := awssim.New(awssim.Options{Clock: v, Strict: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := sim.Load("world.yaml", []byte(l.file())); err != nil {
			t.Fatal(err)
		}
		b := &bed{T: t, clock: v, sim: sim, ecs: awsecs.NewFromConfig(sim.Config())}
		b.sd = awssd.NewFromConfig(sim.Config(), func(o *awssd.Options) {
			o.APIOptions = append(o.APIOptions,
				func(s *middleware.Stack) error { return s.Initialize.Add(b, middleware.After) })
		})
		if b.reg, err = cloudmap.FindRegistry(context.Background(), b.sd,
			"arn:aws:servicediscovery:us-east-1:123456789012:service/"+registry, l.port); err != nil {
			t.Fatal(err)
		}
		f(b)
	})
}

func (b *bed) ID() string { return "CountWrites" }

func (b *bed) HandleInitialize(ctx context.Context, in middleware.InitializeInput,
	next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
	if name := middleware.GetOperationName(ctx); name == "RegisterInstance" || name == "DeregisterInstance" {
		b.writes++
	}
	return next.HandleInitialize(ctx, in)
}

// driver is a new one that knows only what was saved.
func (b *bed) driver() *cloudmap.Driver {
	d := &cloudmap.Driver{Place: cloudmap.Place{Cluster: "prod", Service: "api", Region: "us-east-1"},
		Prefix: cloudmap.InstancePrefix(deployment),
		Tasks:  b.tasks, Deregistered: maps.Clone(b.taken),
		SaveDeregistered: func(_ context.Context, taken map[string]map[string]string) error {
			b.taken = maps.Clone(taken)
			return nil
		}}
	if d.Deregistered == nil {
		d.Deregistered = map[string]map[string]string{}
	}
	d.Instances = cloudmap.InstanceClient{API: b.sd, Registry: b.reg, Pause: b.clock.Sleep,
		Token: func(string) string {
			b.tokens++
			return fmt.Sprint("token-", b.tokens)
		}}
	return d
}

func (b *bed) tasks(ctx context.Context) (all []cloudmap.Task, desired int, err error) {
	for name, v := range map[string]sluice.Variant{"api": sluice.Primary, "api-canary": sluice.Canary} {
		list, err := b.ecs.ListTasks(ctx, &awsecs.ListTasksInput{Cluster: aws.String("prod"),
			ServiceName: aws.String(name)})
		if err != nil || len(list.TaskArns) == 0 {
			return nil, 0, err
		}
		out, err := b.ecs.DescribeTasks(ctx, &awsecs.DescribeTasksInput{Cluster: aws.String("prod"),
			Tasks: list.TaskArns})
		if err != nil {
			return nil, 0, err
		}
		for _, t := range out.Tasks {
			x := cloudmap.Task{ID: sluice.ARNName(*t.TaskArn), Variant: v, Zone: *t.AvailabilityZone, Family: "api",
				Healthy: *t.LastStatus == "RUNNING"}
			for _, d := range t.Attachments[0].Details {
				if *d.Name == "privateIPv4Address" {
					x.Address = *d.Value
				}
			}
			all = append(all, x)
			if v == sluice.Primary {
				desired++
			}
		}
	}
	slices.SortFunc(all, func(x, y cloudmap.Task) int { return strings.Compare(x.ID, y.ID) })
	return all, desired, nil
}

// found are the registered instances by id.
func (b *bed) found() map[string]map[string]string {
	b.Helper()
	out, err := b.sd.ListInstances(context.Background(), &awssd.ListInstancesInput{ServiceId: aws.String(registry)})
	if err != nil {
		b.Fatal(err)
	}
	all := map[string]map[string]string{}
	for _, i := range out.Instances {
		all[*i.Id] = i.Attributes
	}
	return all
}

// canaries are the ids of the canary's instances that are registered.
func (b *bed) canaries() (ids []string) {
	for id := range b.found() {
		if strings.HasPrefix(id, cloudmap.OwnPrefix) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func (b *bed) share() float64 {
	if n := len(b.found()); n > 0 {
		return 100 * float64(len(b.canaries())) / float64(n)
	}
	return -1
}

func (b *bed) pass(d time.Duration) {
	if err := b.clock.Sleep(context.Background(), d); err != nil {
		b.Fatal(err)
	}
}

func (b *bed) deregister(id string) {
	b.Helper()
	if _, err := b.sd.DeregisterInstance(context.Background(),
		&awssd.DeregisterInstanceInput{ServiceId: aws.String(registry), InstanceId: aws.String(id)}); err != nil {
		b.Fatal(err)
	}
	b.pass(6 * time.Second)
}

func free(ctx context.Context, _ sluice.Attempt, call func(context.Context) (string, error)) error {
	_, err := call(ctx)
	return err
}

// to shifts with a new driver.
func (b *bed) to(percent int) (route.Shift, error) {
	return route.Router{Driver: b.driver()}.Shift(context.Background(), free, sluice.CanaryShare(percent))
}
