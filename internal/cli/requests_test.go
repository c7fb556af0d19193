package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/loadbalancer"
	"github.com/sluice-ecs/sluice/awssim/loadgen"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/cli/inspect"
)

// deployWithCallers deploys a canary whose version answers 5 % of its requests with 500, under 200
// requests a second, and runs play in the middle of a wait of ten minutes at 10 %. It returns what
// the deployment and play printed.
func deployWithCallers(t *testing.T, play func(*diagnosisBench)) (deployed, played string) {
	t.Helper()
	var deploy diagnosisBench
	played = playBroken(t, "canary", "{errors: 5%}", func(b *diagnosisBench) {
		app := b.files["sluice.yaml"]
		app.Data = bytes.Replace(app.Data, []byte("duration: 10s"), []byte("duration: 10m"), 1)
		v := b.sim.View().Regions[0]
		loadgen.Attach(b.sim.World(), b.sim.Balancer(), loadgen.Caller{
			Key: world.Key{Account: v.Account, Region: v.Region}, Balancer: v.LoadBalancers[0].ARN, Port: 80, Rate: 200,
			Request: loadbalancer.Request{Method: "GET", Scheme: "http", Host: "web.test", Path: "/"}})
		deploy.T, deploy.clock, deploy.sim, deploy.files = b.T, b.clock, b.sim, b.files
		deploy.random, deploy.state = rand.NewChaCha8([32]byte{2}), b.state
		b.clock.Go(func() { deploy.sluice("deploy", "/app", "--region", "us-east-1") })
		if err := b.clock.Sleep(context.Background(), 10*time.Minute); err != nil {
			b.Error(err)
		}
		play(b)
	})
	return deploy.out.String(), played
}

const figuresPattern = `requests \d\d:\d\d–\d\d:\d\d UTC: primary 10800 \(0 with 5xx\), canary 1200 \(60 with 5xx\), share 10\.0 % \(9\.5–10\.5 %\)`

// The output of deploy has a line for each minute, status has the newest one.
func TestRequestsAreShown(t *testing.T) {
	deployed, shown := deployWithCallers(t, func(b *diagnosisBench) {
		b.sluice("status", "/app", "--region", "us-east-1")
		b.sluice("status", "/app", "--region", "us-east-1", "--output", "json")
	})
	if lines := regexp.MustCompile(figuresPattern).FindAllString(deployed, -1); len(lines) < 5 {
		t.Errorf("%d minutes in the output of deploy\n%s", len(lines), deployed)
	}
	if !regexp.MustCompile(`(?m)^` + figuresPattern + `$`).MatchString(shown) {
		t.Errorf("status shows no figures\n%s", shown)
	}
	var report inspect.ServiceReport
	_, text, _ := strings.Cut(shown, "--output json\n")
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&report); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if r := report.Requests; r == nil || r.Canary == nil || *r.Canary != (sluice.RequestCount{Requests: 1200, Errors: 60}) ||
		r.To.Sub(r.From) != time.Minute {
		t.Errorf("status as JSON has %+v", r)
	}
}

// Without permission status shows everything else, and why there are no figures.
func TestStatusWithoutPermissionForRequests(t *testing.T) {
	_, shown := deployWithCallers(t, func(b *diagnosisBench) {
		if err := b.sim.Inject("denied cloudwatch:GetMetricData"); err != nil {
			b.Error(err)
		}
		b.sluice("status", "/app", "--region", "us-east-1")
	})
	for _, want := range []string{"no request figures: ", "cloudwatch:GetMetricData", "task set", "exit 0"} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in\n%s", want, shown)
		}
	}
}
