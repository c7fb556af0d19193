package local

import (
	"context"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/load"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// demo is a release on the local AWS under a load of real requests.
type demo struct {
	*session.Session
	speed       float64 // of AWS's time; the load is in the machine's
	rate        float64 // requests per second
	seed        uint64
	brokenBy    string  // how version 2 fails, as in --break; empty: it works
	keepServing bool    // serves until Ctrl-C after the release
	files       fs.FS   // the world and the application, as in demoFiles
	loadScale   float64 // factor on the time that each step is under load
}

const (
	demoSpeed = 12
	demoRate  = 200
	// soloDuration is how long a single version is under load before and after the release, in the
	// machine's time.
	soloDuration = 2 * time.Second
)

func (p *program) newDemoCommand() *cobra.Command {
	d := &demo{Session: p.Session, files: demoFiles, loadScale: 1}
	c := &cobra.Command{
		Use:   "demo",
		Short: "Watch a canary release under load, on a local AWS",
		Long: `Watch a canary release under load, on a local AWS.

It starts a local AWS with a service at v1 behind a load balancer, sends requests
to the load balancer at a constant rate, and deploys v2 by a canary, as sluice
deploy would. The rate does not depend on the responses. For each step, it prints
the weight of the canary, the share of the requests that the canary got, and every
request that failed. It needs no AWS account, no credentials and no Docker.

AWS's delays (task starts, health checks, drains) pass --speed times faster. The
requests run in real time.

Exit code 0: no request failed, and the deployment ended as expected (with --break:
rolled back). Exit code 5: a request failed. A version that is broken by errors= or
slow= gets healthy. Health checks do not detect it, and the first WAIT has a metric gate
that does, within minutes of AWS's time. For it, the exit code is 0 if the deployment
was rolled back, or if the gate had too little evidence, however many requests failed.`,
		Example: `  sluice demo
  sluice demo --break crash      a version that crashes: count the failed requests
  sluice demo --break errors=2%  a version that answers 2% of the requests with 500: a gate detects it
  sluice demo --speed 1          in real time: about four minutes
  sluice demo --url              keep it running for curl`,
		Args: session.AtMost(0),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := d.checkDemoFlags(); err != nil {
				return err
			}
			return d.runDemo(c.Context())
		},
	}
	c.Flags().StringVar(&d.brokenBy, "break", "", "deploy a v2 that fails: `crash`, unhealthy, noboot, errors=2% or slow=800ms")
	c.Flags().Float64Var(&d.speed, "speed", demoSpeed, "how many times faster AWS's time passes, 1 to 60")
	c.Flags().Float64Var(&d.rate, "rate", demoRate, "requests per second, 1 to 5000")
	c.Flags().Uint64Var(&d.seed, "seed", 1, "random seed for AWS's delays and the load balancer's choices")
	c.Flags().BoolVar(&d.keepServing, "url", false, "keep serving afterwards, until Ctrl-C")
	return c
}

func (d *demo) checkDemoFlags() error {
	wrong := func(format string, args ...any) error {
		return &sluice.Error{Op: "sluice demo", Err: fmt.Errorf(format, args...), Next: "run sluice demo --help"}
	}
	if _, err := d.brokenImage(); d.brokenBy != "" && err != nil {
		return wrong("--break %s: %w", d.brokenBy, err)
	}
	if !(d.speed >= 1 && d.speed <= 60) {
		return wrong("--speed %g: it must be 1 to 60; above 60, requests last longer than AWS's seconds", d.speed)
	}
	if !(d.rate >= 1 && d.rate <= 5000) {
		return wrong("--rate %g: it must be 1 to 5000", d.rate)
	}
	return nil
}

// runDemo runs the release and prints the measurements.
func (d *demo) runDemo(ctx context.Context) error {
	s, err := d.newSetup(ctx)
	if err != nil {
		return err
	}
	defer s.closeAll()
	result, err := d.runRelease(ctx, s)
	if err != nil {
		return err
	}
	if err := d.printDemo(result); err != nil {
		return err
	}
	if d.keepServing && ctx.Err() == nil {
		d.serveUntilInterrupt(ctx, s)
	}
	return session.ExitWith(d.exitCode(result))
}

// runRelease deploys version 2 under load.
func (d *demo) runRelease(ctx context.Context, s *demoSetup) (*demoResult, error) {
	pl, err := s.planRelease(ctx)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(d.Env.Err, "%s serves v1; sending %g requests per second\n", s.url, d.rate)
	began := time.Now()
	f := &demoFollower{demo: d, setup: s, plan: pl, view: d.newProgress(pl, s), canaries: map[string]bool{}}
	f.load = load.Start(load.Options{URL: s.url, Rate: d.rate},
		f.addRow("before", pl.Rollback.Routes[0].Weights.Canary()))
	f.load.SetSteady("before")
	_ = s.loadClock.Sleep(ctx, d.loadDuration(soloDuration))
	ended, err := f.deployRelease(ctx)
	_ = s.loadClock.Sleep(ctx, d.loadDuration(soloDuration))
	steps := f.load.Stop()
	if err != nil {
		return nil, err
	}
	return f.buildResult(ended, steps, time.Since(began)), nil
}

// loadDuration returns how long a step runs under load.
func (d *demo) loadDuration(t time.Duration) time.Duration {
	return time.Duration(float64(t) * d.loadScale)
}

// newProgress returns a renderer that writes to stderr, independent of the output format.
func (d *demo) newProgress(pl *plan.Plan, s *demoSetup) show.Renderer {
	t := d.Terminal()
	t.JSON = false
	return t.NewRenderer(pl, s.clock)
}

// serveUntilInterrupt keeps the local AWS running until Ctrl-C.
func (d *demo) serveUntilInterrupt(ctx context.Context, s *demoSetup) {
	d.PrintResult("\nstill serving, until Ctrl-C:\n  curl " + s.url +
		"\n  curl " + s.listening.URL() + "/_sluice/traffic" +
		"\n  aws --endpoint-url " + s.listening.URL() + " ecs describe-services --cluster prod --services web")
	<-ctx.Done()
}

// exitCode returns 0 if no request failed and the deployment ended as expected: succeeded, or
// rolled back with --break. A degraded version may do either, and its errors are expected.
func (d *demo) exitCode(r *demoResult) int {
	want := sluice.Succeeded
	if d.brokenBy != "" {
		want = sluice.RolledBack
	}
	switch {
	case d.isDegraded() && (r.Outcome == sluice.Succeeded || r.Outcome == sluice.RolledBack):
		return sluice.ExitDone
	case r.Failed > 0:
		return sluice.ExitFailed
	case r.Outcome == want:
		return sluice.ExitDone
	case r.Outcome == "":
		return sluice.ExitStopped
	case r.Outcome == sluice.Succeeded:
		return sluice.ExitFailed // the broken version was deployed
	}
	return r.Outcome.ExitCode()
}

// deployRelease runs the plan in the same way as sluice deploy.
func (f *demoFollower) deployRelease(ctx context.Context) (engine.RunResult, error) {
	s := f.setup
	e := f.NewEngine(s.account, s.clock, s.journal)
	e.OnEvent = func(ev sluice.Envelope) { f.handleEvent(ctx, ev) }
	defer f.view.Close()
	defer f.Notices.SetInterrupt(f.view, "stopping at a safe point; press Ctrl-C again to exit immediately")()
	id, err := e.Start(ctx, f.plan, f.Env.TriggerName())
	if err != nil {
		return engine.RunResult{}, err
	}
	return e.Run(ctx, id, engine.Options{})
}
