package local

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

	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/survey"
)

// demoFiles are the world and the application of the demo. Except for the application file, they
// equal those of examples/canary.
//
//go:embed demo
var demoFiles embed.FS

// demoSetup is the environment of the demo: a local AWS that listens on loopback, and the account
// and journal with which sluice deploys to it.
type demoSetup struct {
	demo      *demo
	clock     clock.Clock // AWS's time and sluice's
	loadClock clock.Clock // the load's
	listening *awssim.Listening
	account   *account.Account
	journal   *journal.Journal
	url       string // of the load balancer
}

// newSetup starts the environment of the demo. Version 1 serves when it returns.
func (d *demo) newSetup(ctx context.Context) (*demoSetup, error) {
	s := &demoSetup{demo: d, clock: clock.Scaled(d.speed), loadClock: clock.Real()}
	if err := s.startAll(ctx); err != nil {
		s.closeAll()
		return nil, err
	}
	return s, nil
}

func (s *demoSetup) startAll(ctx context.Context) error {
	sim, err := awssim.New(awssim.Options{Clock: s.clock, Seed: s.demo.seed, Speed: s.demo.speed})
	if err != nil {
		return err
	}
	world, err := fs.ReadFile(s.demo.files, "demo/world.yaml")
	if err != nil {
		return err
	}
	if err := sim.Load("world.yaml", world); err != nil {
		return err
	}
	if s.listening, err = sim.Listen(context.WithoutCancel(ctx), "127.0.0.1:0"); err != nil {
		return err
	}
	if s.account, err = account.Open(ctx, account.Config{Region: sim.Region(), Credentials: sim.Config().Credentials,
		EndpointURL: s.listening.URL(), APIOptions: s.demo.Env.APIOptions, Clock: s.clock,
		Jitter: s.demo.Env.RandomFraction}); err != nil {
		return err
	}
	if s.journal, err = s.demo.Env.OpenJournal(journal.Memory, s.clock); err != nil {
		return err
	}
	return s.findLoadBalancer(ctx, sim.View())
}

// findLoadBalancer takes the address of the load balancer from the world and waits until it
// responds.
func (s *demoSetup) findLoadBalancer(ctx context.Context, v awssim.View) error {
	var all []awssim.BalancerView
	for _, r := range v.Regions {
		all = append(all, r.LoadBalancers...)
	}
	if len(all) != 1 {
		return fmt.Errorf("the demo's world has %d load balancers", len(all))
	}
	s.url = "http://" + all[0].DNSName + "/"
	for range 100 {
		if isServing(ctx, s.url) {
			return nil
		}
		if err := s.loadClock.Sleep(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	return errors.New("v1 does not respond at " + s.url)
}

func isServing(ctx context.Context, url string) bool {
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

func (s *demoSetup) closeAll() {
	if s.journal != nil {
		s.journal.Close()
	}
	if s.listening != nil {
		s.listening.Close()
	}
}

// planRelease plans the release of version 2.
func (s *demoSetup) planRelease(ctx context.Context) (*plan.Plan, error) {
	files, err := fs.Sub(s.demo.files, "demo")
	if err != nil {
		return nil, err
	}
	app, err := appfile.Load(editedFiles{files, s.fitToFlags}, "app.pipecd.yaml", nil)
	if err != nil {
		return nil, err
	}
	live, err := survey.ReadInputs(ctx, s.account, s.clock, app)
	if err != nil {
		return nil, err
	}
	return mode.Make(app, live, mode.Options{})
}

// fitToFlags edits a file of the demo by its flags. Each WAIT is extended: first by the time until
// every load balancer node uses the weights, then its own duration in the machine's time, in
// which the load runs. With --break, the image of version 2 is replaced by a broken one. If health checks
// do not detect it, the first WAIT gets a gate.
func (s *demoSetup) fitToFlags(data []byte) []byte {
	data = durationPattern.ReplaceAllFunc(data, func(wait []byte) []byte {
		d, err := time.ParseDuration(string(durationPattern.FindSubmatch(wait)[1]))
		if err != nil {
			return wait
		}
		hold := propagationTime + time.Duration(float64(s.demo.loadDuration(d))*s.demo.speed)
		return []byte("duration: " + hold.Round(time.Second).String())
	})
	if image, err := s.demo.brokenImage(); err == nil {
		data = bytes.ReplaceAll(data, []byte("sim/web:v2"), []byte(image))
	}
	if s.demo.isDegraded() {
		data = s.demo.addGate(data)
	}
	return data
}

var durationPattern = regexp.MustCompile(`duration: (\w+)`)

// editedFiles is a folder whose files pass through edit when they are read.
type editedFiles struct {
	fs.FS
	edit func([]byte) []byte
}

// ReadFile implements [fs.ReadFileFS].
func (e editedFiles) ReadFile(name string) ([]byte, error) {
	data, err := fs.ReadFile(e.FS, name)
	return e.edit(data), err
}
