package rehearse

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/sluice-ecs/sluice/internal/clock"
)

// The world of a service that runs has the shape of the service: each thing that is
// read is other than what the files and AWS's defaults say.
func TestFromLiveTakesTheShapeThatRuns(t *testing.T) {
	of := func(change func(*World)) World {
		w := PlainWorld()
		w.Tasks, w.Subnets, w.Start = 3, subnetIDs(2), 40*time.Second
		for _, g := range []*Group{&w.Primary, &w.Canary} {
			g.Interval, g.Timeout, g.Healthy, g.Unhealthy, g.Drain = 15*time.Second, 4*time.Second, 4, 3, 45*time.Second
		}
		change(&w)
		return w
	}
	for name, w := range map[string]World{
		"task sets": of(func(w *World) {
			w.setRuleCount(2)
			w.Listeners[0].Rules[0].Primary, w.Listeners[0].Rules[0].Sticky = 50, time.Hour
			w.Scaling = Scaling{Min: 2, Max: 9}
		}),
		"rolling": of(func(w *World) {
			w.Controller, w.Percents, w.Grace = "ECS", Percents{50, 150},
				90*time.Second
		}),
		"CodeDeploy": of(func(w *World) { w.Controller, w.Undo, w.Keep = "CODE_DEPLOY", true, 5*time.Minute }),
		"by name":    of(func(w *World) { w.Controller, w.TTL, w.Check = "ECS", 25*time.Second, 5*time.Second }),
	} {
		t.Run(name, func(t *testing.T) {
			v := clock.NewVirtual(startTime())
			v.Run(func() { tookFrom(t, w, v) })
		})
	}
}

// tookFrom lays a world and compares what is taken from it.
func tookFrom(t *testing.T, w World, k clock.Clock) {
	ctx, c := context.Background(), Case{World: w}
	if w.Controller != "ECS" && w.Controller != "CODE_DEPLOY" {
		c.Pipeline = canaryPipeline()
	}
	f := newField(c, k)
	if err := f.buildWorld(); err != nil {
		t.Error(err)
		return
	}
	f.sleep(5 * time.Minute)
	measured(t, f)
	app, err := f.loadFitted()
	if err != nil {
		t.Error(err)
		return
	}
	a, err := f.openAccount(k, nil)
	if err != nil {
		t.Error(err)
		return
	}
	got, err := FromLive(ctx, a, k, app)
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
	if w.usesCloudMap() {
		return
	}
	g := got.Primary
	if g != w.Primary || w.usesCodeDeploy() && got.Canary.Name() != w.Canary.Name() {
		t.Errorf("target groups %+v %+v, not %+v", g, got.Canary, w.Primary)
	}
	if paths := len(w.Listeners[0].Rules); got.Rate != 120/paths || got.Lasts != 700*time.Millisecond {
		t.Errorf("%d requests/s that last %s", got.Rate, got.Lasts)
	}
	for _, was := range w.Listeners[0].Rules {
		if !slices.ContainsFunc(got.Listeners[0].Rules, func(r Rule) bool {
			return (r.Primary == was.Primary || r.Alone) && r.Sticky == was.Sticky &&
				(r.Priority == 0) == (was.Priority == 0)
		}) {
			t.Errorf("rule %+v is not among %+v", was, got.Listeners[0].Rules)
		}
	}
}

// percentsOf are a world's limits, with AWS's own where it has none.
func percentsOf(w World) Percents {
	if w.Controller == "ECS" && w.Percents == (Percents{}) {
		return Percents{100, 200}
	}
	return w.Percents
}

// measured puts what CloudWatch would have of the load balancer: in the busiest minute
// 7200 requests, the longest of which lasted 0.7 s.
func measured(t *testing.T, f *rehearsal) {
	for minute, n := range []float64{600, 7200, 60} {
		at := aws.Time(f.clock.Now().Add(-time.Duration(2+minute) * time.Minute))
		of := []cwtypes.Dimension{{Name: aws.String("LoadBalancer"), Value: aws.String("app/web/" + hexID)},
			{Name: aws.String("TargetGroup"), Value: aws.String("targetgroup/web-primary/" + hexID)}}
		if _, err := awscw.NewFromConfig(f.sim.Config()).PutMetricData(context.Background(),
			&awscw.PutMetricDataInput{Namespace: aws.String("AWS/ApplicationELB"), MetricData: []cwtypes.MetricDatum{
				{MetricName: aws.String("RequestCount"), Timestamp: at, Dimensions: of, Value: aws.Float64(n)},
				{MetricName: aws.String("TargetResponseTime"), Timestamp: at, Dimensions: of,
					Value: aws.Float64(n / 7200 * 0.7)},
			}}); err != nil {
			t.Error(err)
		}
	}
}
