package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/load"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// demo is a release on the local AWS under a load of real requests.
type demo struct {
	*program
	speed  float64 // of AWS's time; the load is in the machine's
	rate   float64 // requests per second
	seed   uint64
	broken string // how version 2 fails, as in --break; empty: it works
	stay   bool   // serves until Ctrl-C after the release

	// For tests which show that the demo can lose requests.
	hasty bool                // no wait for health
	world func([]byte) []byte // edits the world file; nil: no edit
	brief float64             // factor on the duration of the load in each step; 0: unchanged
}

// brokenImages maps each value of --break to its image.
var broken = map[string]string{
	"crash":     "sim/web:v2-crash-after-2s",
	"unhealthy": "sim/web:v2-never-healthy",
	"noboot":    "sim/web:v2-noboot",
}

const (
	demoSpeed = 12
	demoRate  = 200
	// soloDuration is how long a single version is under load before and after the release, in the
	// machine's time.
	demoAlone = 2 * time.Second
)

func (p *program) demo() *cobra.Command {
	d := &demo{program: p}
	c := &cobra.Command{
		Use:   "demo",
		Short: "Watch a canary release under load, on a local AWS with real requests",
		Long: `Watch a canary release under load, on a local AWS with real requests.

It brings up a local AWS with a service at v1 behind a load balancer, sends
requests to the load balancer at a steady rate, whatever comes back, and deploys
v2 by a canary, as sluice deploy would. Then it prints, step by step, the weight
that the canary was given, the share of the requests that it really got, and
every request that failed. It needs no AWS, no credentials and no Docker.

AWS's delays (task starts, health checks, drains) pass --speed times faster; the
requests take the time that they take.

It ends with 0 if no request failed and the deployment ended as it should, which
with --break means rolled back; with 5 if a request failed.`,
		Example: `  sluice demo
  sluice demo --break crash      a version that crashes: who noticed?
  sluice demo --speed 1          in AWS's own time: about four minutes
  sluice demo --url              leave it running for curl`,
		Args: atMost(0),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := d.check(); err != nil {
				return err
			}
			return d.run(c.Context())
		},
	}
	c.Flags().StringVar(&d.broken, "break", "", "deploy a v2 that fails: `crash`, unhealthy or noboot")
	c.Flags().Float64Var(&d.speed, "speed", demoSpeed, "how much faster AWS's time passes, 1 to 60")
	c.Flags().Float64Var(&d.rate, "rate", demoRate, "requests per second, 1 to 5000")
	c.Flags().Uint64Var(&d.seed, "seed", 1, "of AWS's delays and of the load balancer's choices")
	c.Flags().BoolVar(&d.stay, "url", false, "go on serving afterwards, until Ctrl-C")
	return c
}

func (d *demo) check() error {
	wrong := func(format string, args ...any) error {
		return &sluice.Error{Op: "sluice demo", Err: fmt.Errorf(format, args...), Next: "sluice demo --help"}
	}
	if _, ok := broken[d.broken]; d.broken != "" && !ok {
		return wrong("--break %s: it is one of %s", d.broken, strings.Join(slices.Sorted(maps.Keys(broken)), ", "))
	}
	if !(d.speed >= 1 && d.speed <= 60) {
		return wrong("--speed %g: it is 1 to 60; beyond that AWS's seconds are no longer than requests", d.speed)
	}
	if !(d.rate >= 1 && d.rate <= 5000) {
		return wrong("--rate %g: it is 1 to 5000", d.rate)
	}
	return nil
}

// runDemo runs the release and prints the measurements.
func (d *demo) run(ctx context.Context) error {
	s, err := d.stage(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	result, err := d.release(ctx, s)
	if err != nil {
		return err
	}
	if err := d.print(result); err != nil {
		return err
	}
	if d.stay && ctx.Err() == nil {
		d.serve(ctx, s)
	}
	return code(d.exitCode(result))
}

// runRelease deploys version 2 under load.
func (d *demo) release(ctx context.Context, s *scene) (*demoResult, error) {
	pl, err := s.plan(ctx)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(d.env.Err, "%s serves v1; %g requests a second from now on\n", s.url, d.rate)
	began := time.Now()
	f := &follower{demo: d, scene: s, plan: pl, show: d.progress(pl, s), canaries: map[string]bool{}}
	f.load = load.Start(load.Options{URL: s.url, Rate: d.rate}, f.row("before", pl.Rollback.Routes[0].Weights.Canary()))
	f.load.Steady("before")
	_ = s.real.Sleep(ctx, d.lasting(demoAlone))
	ended, err := f.deploy(ctx)
	_ = s.real.Sleep(ctx, d.lasting(demoAlone))
	steps := f.load.Stop()
	if err != nil {
		return nil, err
	}
	return f.result(ended, steps, time.Since(began)), nil
}

// loadDuration returns how long a step runs under load.
func (d *demo) lasting(t time.Duration) time.Duration {
	if d.brief > 0 {
		t = time.Duration(float64(t) * d.brief)
	}
	return t
}

// newProgress returns a renderer that writes to stderr, independent of the output format.
func (d *demo) progress(pl *plan.Plan, s *scene) renderer {
	if d.env.IsTerminal(d.env.Err) && !d.onGitHub() {
		return newLive(d.env.Err, d.paint, newBoard(pl), s.clock, func() (int, int) { return d.env.Size(d.env.Err) })
	}
	return &lines{w: d.env.Err, paint: d.paint, groups: d.onGitHub()}
}

// serveUntilInterrupt keeps the local AWS running until Ctrl-C.
func (d *demo) serve(ctx context.Context, s *scene) {
	d.say("\nstill serving, until Ctrl-C:\n  curl " + s.url +
		"\n  curl " + s.live.URL() + "/_sluice/traffic" +
		"\n  aws --endpoint-url " + s.live.URL() + " ecs describe-services --cluster prod --services web")
	<-ctx.Done()
}

// exitCode returns 0 if no request failed and the deployment ended as expected: succeeded, or
// rolled back with --break.
func (d *demo) exitCode(r *demoResult) int {
	want := sluice.Succeeded
	if d.broken != "" {
		want = sluice.RolledBack
	}
	switch {
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
func (f *follower) deploy(ctx context.Context) (engine.Ended, error) {
	s := f.scene
	e := f.engine(s.account, s.clock, s.journal)
	e.Hasty, e.Watch = f.hasty, func(ev sluice.Envelope) { f.see(ctx, ev) }
	defer f.show.close()
	defer f.hold(f.show, "stopping at a safe point; Ctrl-C again leaves at once")()
	id, err := e.Start(ctx, f.plan, f.trigger())
	if err != nil {
		return engine.Ended{}, err
	}
	return e.Run(ctx, id, engine.Options{})
}
