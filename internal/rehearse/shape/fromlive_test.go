package shape_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/rehearse"
	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
	"github.com/sluice-ecs/sluice/internal/rehearse/simtest"
)

// The world of a service that runs has the shape of the service: each thing that is
// read is other than what the files and AWS's defaults say.
func TestFromLiveTakesTheShapeThatRuns(t *testing.T) {
	of := func(change func(*shape.World)) shape.World {
		w := simtest.PlainWorld()
		w.Tasks, w.Subnets, w.Start = 3, shape.SubnetIDs(2), 40*time.Second
		for _, g := range []*shape.Group{&w.Primary, &w.Canary} {
			g.Interval, g.Timeout, g.Healthy, g.Unhealthy, g.Drain = 15*time.Second, 4*time.Second, 4, 3, 45*time.Second
		}
		change(&w)
		return w
	}
	for name, w := range map[string]shape.World{
		"task sets": of(func(w *shape.World) {
			w.Listeners[0].Rules = append(w.Listeners[0].Rules, shape.Rule{Priority: 10, Path: "/part1", Primary: 100})
			w.Listeners[0].Rules[0].Primary, w.Listeners[0].Rules[0].Sticky = 50, time.Hour
			w.Scaling = shape.Scaling{Min: 2, Max: 9}
		}),
		"rolling": of(func(w *shape.World) {
			w.Controller, w.Percents, w.Grace = "ECS", shape.Percents{Least: 50, Most: 150},
				90*time.Second
		}),
		"CodeDeploy": of(func(w *shape.World) { w.Controller, w.Undo, w.Keep = "CODE_DEPLOY", true, 5*time.Minute }),
		"by name":    of(func(w *shape.World) { w.Controller, w.TTL, w.Check = "ECS", 25*time.Second, 5*time.Second }),
	} {
		t.Run(name, func(t *testing.T) {
			v := clock.NewVirtual(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
			v.Run(func() { tookFrom(t, w, v) })
		})
	}
}

// tookFrom lays a world and compares what is taken from it.
func tookFrom(t *testing.T, w shape.World, k clock.Clock) {
	ctx, c := t.Context(), rehearse.Case{World: w}
	if w.Controller != "ECS" && w.Controller != "CODE_DEPLOY" {
		c.Pipeline = simtest.CanaryPipeline()
	}
	env, err := simtest.NewSimEnv(c, k)
	if err != nil {
		t.Error(err)
		return
	}
	if err := k.Sleep(ctx, 5*time.Minute); err != nil {
		t.Error(err)
		return
	}
	cfg := env.Sim().Config()
	measured(t, cfg, k.Now())
	app, err := appfile.Load(simtest.Application(c), "sluice.yaml", nil)
	if err != nil {
		t.Error(err)
		return
	}
	a, err := account.Open(ctx, account.Config{Region: cfg.Region, Credentials: cfg.Credentials,
		EndpointURL: awssim.Endpoint, HTTPClient: env.Sim().HTTPClient(), Clock: k, APIOptions: env.Sim().APIOptions()})
	if err != nil {
		t.Error(err)
		return
	}
	got, err := shape.FromLive(ctx, a, k, app)
	if err != nil {
		t.Error(err)
		return
	}
	if len(got.Subnets) != len(w.Subnets) || got.Start != w.Start {
		t.Errorf("%d zones, start %s", len(got.Subnets), got.Start)
	}
	for field, x := range map[string][2]any{
		"tasks": {got.Tasks, w.Tasks}, "controller": {got.Controller, w.Controller},
		"scaling":  {got.Scaling, w.Scaling},
		"percents": {got.Percents, percentsOf(w)}, "grace": {got.Grace, w.Grace}, "ttl": {got.TTL, w.TTL},
		"undo": {got.Undo, w.Undo}, "keep": {got.Keep, w.Keep},
	} {
		if !reflect.DeepEqual(x[0], x[1]) {
			t.Errorf("%s: %+v, not %+v", field, x[0], x[1])
		}
	}
	if w.UsesCloudMap() {
		return
	}
	g := got.Primary
	if g != w.Primary || w.UsesCodeDeploy() && got.Canary.Name() != w.Canary.Name() {
		t.Errorf("target groups %+v %+v, not %+v", g, got.Canary, w.Primary)
	}
	if paths := len(w.Listeners[0].Rules); got.Rate != 400/paths || got.Lasts != 700*time.Millisecond {
		t.Errorf("%d requests/s that last %s", got.Rate, got.Lasts)
	}
	for _, was := range w.Listeners[0].Rules {
		if !slices.ContainsFunc(got.Listeners[0].Rules, func(r shape.Rule) bool {
			return (r.Primary == was.Primary || r.Alone) && r.Sticky == was.Sticky &&
				(r.Priority == 0) == (was.Priority == 0)
		}) {
			t.Errorf("rule %+v is not among %+v", was, got.Listeners[0].Rules)
		}
	}
}

// percentsOf are a world's limits, with AWS's own where it has none.
func percentsOf(w shape.World) shape.Percents {
	if w.Controller == "ECS" && w.Percents == (shape.Percents{}) {
		return shape.Percents{Least: 100, Most: 200}
	}
	return w.Percents
}

// measured puts what CloudWatch would have of the load balancer: in the busiest minute
// 24,000 requests, the longest of which lasted 0.7 s. The callers of the world send half as many.
func measured(t *testing.T, cfg aws.Config, now time.Time) {
	for minute, n := range []float64{600, 24000, 60} {
		at := aws.Time(now.Add(-time.Duration(20+minute) * time.Minute))
		of := []cwtypes.Dimension{
			{Name: aws.String("LoadBalancer"), Value: aws.String("app/web/" + "0123456789abcdef")},
			{Name: aws.String("TargetGroup"), Value: aws.String("targetgroup/web-primary/" + "0123456789abcdef")},
		}
		if _, err := awscw.NewFromConfig(cfg).PutMetricData(t.Context(),
			&awscw.PutMetricDataInput{Namespace: aws.String("AWS/ApplicationELB"), MetricData: []cwtypes.MetricDatum{
				{MetricName: aws.String("RequestCount"), Timestamp: at, Dimensions: of, Value: aws.Float64(n)},
				{MetricName: aws.String("TargetResponseTime"), Timestamp: at, Dimensions: of,
					Value: aws.Float64(n / 24000 * 0.7)},
			}}); err != nil {
			t.Error(err)
		}
	}
}
