package cli

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"regexp"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage"
)

// demoFiles are the world and the application of the demo. Except for the application file, they
// equal those of examples/canary.
//
//go:embed demo
var demoFiles embed.FS

// demoSetup is the environment of the demo: a local AWS that listens on loopback, and the account
// and journal with which sluice deploys to it.
type scene struct {
	demo    *demo
	clock   clock.Clock // AWS's time and sluice's
	real    clock.Clock // the load's
	live    *awssim.Listening
	account *account.Account
	journal *journal.Journal
	url     string // of the load balancer
}

// newSetup starts the environment of the demo. Version 1 serves when it returns.
func (d *demo) stage(ctx context.Context) (*scene, error) {
	s := &scene{demo: d, clock: clock.Scaled(d.speed), real: clock.Real()}
	if err := s.open(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *scene) open(ctx context.Context) error {
	sim, err := awssim.New(awssim.Options{Clock: s.clock, Seed: s.demo.seed, Speed: s.demo.speed})
	if err != nil {
		return err
	}
	world, err := demoFiles.ReadFile("demo/world.yaml")
	if err != nil {
		return err
	}
	if s.demo.world != nil {
		world = s.demo.world(world)
	}
	if err := sim.Load("world.yaml", world); err != nil {
		return err
	}
	if s.live, err = sim.Listen(context.WithoutCancel(ctx), "127.0.0.1:0"); err != nil {
		return err
	}
	if s.account, err = account.Open(ctx, account.Config{Region: sim.Region(), Credentials: sim.Config().Credentials,
		EndpointURL: s.live.URL(), Clock: s.clock, Draw: s.demo.draw}); err != nil {
		return err
	}
	if s.journal, err = s.demo.env.OpenJournal(journal.Memory, s.clock); err != nil {
		return err
	}
	return s.find(ctx)
}

// findLoadBalancer reads the address of the load balancer and waits until it responds.
func (s *scene) find(ctx context.Context) error {
	out, err := s.account.ELB().DescribeLoadBalancers(ctx, &awselb.DescribeLoadBalancersInput{})
	if err != nil {
		return err
	}
	if len(out.LoadBalancers) != 1 {
		return fmt.Errorf("the demo's world has %d load balancers", len(out.LoadBalancers))
	}
	s.url = "http://" + aws.ToString(out.LoadBalancers[0].DNSName) + "/"
	for range 100 {
		if answers(ctx, s.url) {
			return nil
		}
		if err := s.real.Sleep(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	return errors.New("v1 does not answer at " + s.url)
}

func answers(ctx context.Context, url string) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode == http.StatusOK
}

func (s *scene) close() {
	if s.journal != nil {
		s.journal.Close()
	}
	if s.live != nil {
		s.live.Close()
	}
}

// planRelease plans the release of version 2.
func (s *scene) plan(ctx context.Context) (*plan.Plan, error) {
	files, err := fs.Sub(demoFiles, "demo")
	if err != nil {
		return nil, err
	}
	app, err := appfile.Load(edited{files, s.edit}, "app.pipecd.yaml", nil)
	if err != nil {
		return nil, err
	}
	live, err := stage.Survey(ctx, s.account, s.clock, app)
	if err != nil {
		return nil, err
	}
	return plan.Make(app, live, plan.Options{})
}

// fitToFlags edits a file of the demo by its flags. Each WAIT is extended: first by the time until
// every load balancer node uses the weights, then its own duration in the machine's time, in
// which the load runs. With --break, the image of version 2 is replaced by a broken one.
func (s *scene) edit(data []byte) []byte {
	data = waits.ReplaceAllFunc(data, func(wait []byte) []byte {
		d, err := time.ParseDuration(string(waits.FindSubmatch(wait)[1]))
		if err != nil {
			return wait
		}
		hold := propagates + time.Duration(float64(s.demo.lasting(d))*s.demo.speed)
		return []byte("duration: " + hold.Round(time.Second).String())
	})
	if image := broken[s.demo.broken]; image != "" {
		data = bytes.ReplaceAll(data, []byte("sim/web:v2"), []byte(image))
	}
	return data
}

var waits = regexp.MustCompile(`duration: (\w+)`)

// editedFiles is a folder whose files pass through edit when they are read.
type edited struct {
	fs.FS
	edit func([]byte) []byte
}

// ReadFile implements [fs.ReadFileFS].
func (e edited) ReadFile(name string) ([]byte, error) {
	data, err := fs.ReadFile(e.FS, name)
	return e.edit(data), err
}
