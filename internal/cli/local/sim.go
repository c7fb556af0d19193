package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/definition"
)

type simOptions struct {
	listen      string
	speed       float64
	seed        uint64
	world       string
	like        simSource
	hostImages  bool
	allowRemote bool
}

// simLogLimit is the maximum number of log entries that a sim keeps. A sim may run for days.
const simLogLimit = 100_000

func (p *program) newSimCommand() *cobra.Command {
	var o simOptions
	c := &cobra.Command{
		Use:   "sim",
		Short: "Serve a local AWS with real traffic",
		Long: `Serve a local AWS with ECS, working load balancers and tasks that respond to requests,
for sluice, the aws command line, SDKs and curl. It runs on this machine only and saves
no data. It prints the variables to export. Ctrl-C stops it.

--from DIR builds the AWS that the application in DIR expects: cluster, load balancer,
target groups, and the service with the previous version. --from-live builds it from a
service in AWS, with all listener rules, with read calls only.`,
		Example: `  sluice sim --world examples/canary/world.yaml
  sluice sim --from shop                your own files; then sluice deploy shop
  sluice sim --from-live --cluster prod --service web
  sluice sim --speed 20                 time runs 20 times as fast
  curl 127.0.0.1:4566/_sluice/world     show its resources
  curl -d 'throttle ecs:CreateTaskSet times=1' 127.0.0.1:4566/_sluice/faults`,
		Args: session.AtMost(0, "name the folder of an application with --from, or a world file with --world"),
		RunE: func(c *cobra.Command, _ []string) error { return p.runSim(c.Context(), o) },
	}
	f := c.Flags()
	f.StringVar(&o.listen, "listen", "127.0.0.1:4566", "`address` of the AWS APIs; port 0 chooses one")
	f.Float64Var(&o.speed, "speed", 1, "how many times faster time passes")
	f.Uint64Var(&o.seed, "seed", 1, "seed of all random numbers")
	f.Var(session.OnceFlag(&o.world), "world", "YAML `file` with the resources at the start")
	o.like.register(f)
	f.BoolVar(&o.hostImages, "allow-host-images", false, "let images host:<command> run that command on this machine")
	f.BoolVar(&o.allowRemote, "allow-remote", false,
		"accept requests from other machines, without authentication")
	return c
}

func (p *program) runSim(ctx context.Context, o simOptions) error {
	if o.like.isGiven() {
		return p.runSimLike(ctx, o)
	}
	s, err := p.newSim(o)
	if err != nil {
		return err
	}
	return p.serveSim(ctx, s, o)
}

func (p *program) serveSim(ctx context.Context, s *awssim.Sim, o simOptions) error {
	at, err := s.Listen(ctx, o.listen)
	if errors.Is(err, awssim.ErrRemote) {
		return &sluice.Error{Op: "serve the local AWS", Err: err,
			Next: "give an address such as 127.0.0.1:4566, or --allow-remote to accept requests from other machines"}
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		err = fmt.Errorf("%w: another program, perhaps a local AWS, listens there", err)
	}
	if err != nil {
		return &sluice.Error{Op: "serve the local AWS", Err: err,
			Next: "give another address: --listen 127.0.0.1:0 chooses a free port"}
	}
	defer at.Close()
	printSimHelp(p.Env.Out, s, at, o)
	<-ctx.Done()
	return nil
}

func (p *program) newSim(o simOptions) (*awssim.Sim, error) {
	if !(o.speed > 0) || o.speed > 1e6 {
		return nil, &sluice.Error{Op: "serve the local AWS",
			Err: fmt.Errorf("speed %v is not above 0 and at most 1000000", o.speed), Next: "give --speed 10"}
	}
	c := clock.Real()
	if o.speed != 1 {
		c = clock.Scaled(o.speed)
	}
	knobs := world.DefaultSettings()
	knobs.Throttle = true // as on AWS; a world file may switch it off
	s, err := awssim.New(awssim.Options{Clock: c, Settings: &knobs, Seed: o.seed, Speed: o.speed, LogLimit: simLogLimit,
		AllowHostImages: o.hostImages, AllowRemote: o.allowRemote})
	if err != nil || o.world == "" {
		return s, err
	}
	data, err := p.Env.Disk.ReadFile(o.world)
	if err != nil {
		meant, why := p.Env.Disk.AdviseYAML(o.world, "world.yaml", err)
		return nil, &sluice.Error{Op: "read the world file", Resource: o.world, Err: why,
			Next: "give --world a file such as " + cmp.Or(meant, "examples/canary/world.yaml")}
	}
	if err := s.Load(o.world, data); err != nil {
		if isApplication(o.world, data) {
			return nil, &sluice.Error{Op: "build the world", Resource: o.world, Err: errors.New("this is an application file"),
				Next: "give the folder of the application: sluice sim --from " + filepath.ToSlash(filepath.Dir(o.world))}
		}
		return nil, &sluice.Error{Op: "build the world", Err: err,
			Next: "correct the world file; docs/reference/sim.md lists every key"}
	}
	return s, nil
}

// printSimHelp prints the variables to export in another terminal, and the addresses to call.
func printSimHelp(w io.Writer, s *awssim.Sim, at *awssim.Listening, o simOptions) {
	url := at.URL()
	speed := strconv.FormatFloat(o.speed, 'g', -1, 64)
	pace := ""
	if o.speed != 1 {
		pace = ", " + speed + " times as fast"
	}
	fmt.Fprintf(w, "# a local AWS at %s, account %s, %s%s\n", url, s.Account(), s.Region(), pace)
	fmt.Fprintf(w, "# in another terminal:\nexport AWS_ENDPOINT_URL=%s\nexport AWS_ACCESS_KEY_ID=%s\nexport "+
		"AWS_SECRET_ACCESS_KEY=sim\nexport AWS_REGION=%[3]s AWS_DEFAULT_REGION=%[3]s\n",
		url, s.Account(), s.Region())
	fmt.Fprintf(w, "export AWS_DISABLE_HOST_PREFIX_INJECTION=true\nexport SLUICE_SPEED=%s\n", speed)
	for _, r := range s.View().Regions {
		for _, lb := range r.LoadBalancers {
			for _, l := range lb.Listeners {
				fmt.Fprintf(w, "# load balancer %s, port %d: curl http://%s/\n", lb.Name, l.Port,
					listenerAddress(lb, l))
			}
		}
	}
	printNameHelp(w, s, at.DNS())
	fmt.Fprintf(w, "# inspect: curl %s/_sluice/world and /_sluice/traffic; inject faults: POST lines to "+
		"/_sluice/faults; reset: POST /_sluice/reset\n", url)
	if s.World().Throttles() {
		fmt.Fprintln(w, "# calls beyond AWS's rates are throttled, as on AWS; `knobs: {throttle: false}` in the "+
			"world file turns that off")
	}
	fmt.Fprintln(w, "# Ctrl-C stops it")
}

// listenerAddress returns the address at which a listener accepts requests.
func listenerAddress(lb awssim.BalancerView, l awssim.ListenerView) string {
	if l.Bound != "" {
		return l.Bound
	}
	return lb.DNSName + ":" + strconv.Itoa(int(l.Port))
}

// isApplication reports whether a file has the keys of an application, of sluice.yaml or of PipeCD.
func isApplication(name string, data []byte) bool {
	src, err := definition.Parse(name, data)
	return err == nil && (src.Root.Get("input") != nil || src.Root.Get("spec") != nil)
}
