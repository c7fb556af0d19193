package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	rehearsals "github.com/sluice-ecs/sluice/internal/rehearse"
	"github.com/sluice-ecs/sluice/internal/replica"
)

// simSource is what a local AWS is built from: an application's files, or a service in AWS.
type simSource struct {
	from     string
	second   string // a second folder, which is refused
	fromLive bool
	cluster  string
	service  string
	print    bool
}

func (l *simSource) register(f *pflag.FlagSet) {
	f.Var(session.FlagOf("folder", l.setFrom), "from", "build the world that the application in this `folder` expects")
	f.BoolVar(&l.fromLive, "from-live", false, "build the world from a service in AWS; only reads AWS")
	f.StringVar(&l.cluster, "cluster", "", "`cluster` of --from-live, if --from is not given")
	f.StringVar(&l.service, "service", "", "`service` of --from-live, if --from is not given")
	f.BoolVar(&l.print, "print-world", false, "with --from or --from-live: print the world file, and start nothing")
}

// setFrom takes a value of the flag --from. The first folder counts.
func (l *simSource) setFrom(s string) error {
	if l.from != "" {
		l.second = s
		return nil
	}
	l.from = s
	return nil
}

func (l *simSource) isGiven() bool { return *l != simSource{} }

// check refuses flags that do not fit together.
func (l *simSource) check(world string) error {
	wrong := func(next, format string, args ...any) error {
		return &sluice.Error{Op: "sluice sim", Err: fmt.Errorf(format, args...), Next: next}
	}
	switch named := l.cluster != "" || l.service != ""; {
	case l.second != "":
		return wrong("write each world with --from DIR --print-world, join the lists of the two files in one, and give "+
			"that as --world",
			"--from builds the world of one application, but is given %s and %s", l.from, l.second)
	case world != "" && (l.from != "" || l.fromLive):
		return wrong("give one of them", "--world, --from and --from-live are different worlds")
	case l.from == "" && !l.fromLive:
		return wrong("give --from DIR, or --from-live", "--cluster, --service and --print-world need a service")
	case named && !l.fromLive:
		return wrong("give --from-live too, or leave them out", "--cluster and --service are for --from-live")
	case named && l.from != "":
		return wrong("leave --from out, or --cluster and --service",
			"the files of %s name the cluster and the service", l.from)
	case l.fromLive && l.from == "" && l.service == "":
		return wrong("give --service, with --cluster if it is not in the cluster default, or --from DIR",
			"--from-live needs the name of a service")
	}
	return nil
}

// runSimLike serves a local AWS that is like the one of an application.
func (p *program) runSimLike(ctx context.Context, o simOptions) error {
	if err := o.like.check(o.world); err != nil {
		return err
	}
	w, err := p.findWorld(ctx, o.like)
	if err != nil {
		return err
	}
	s, err := p.newSim(o)
	if err != nil {
		return err
	}
	gaps, err := rehearsals.CheckGaps(w.Definition, w.Task)
	if err != nil {
		return err
	}
	w.Notes = append(w.Notes, gaps...)
	if err := loadReplica(s, w); err != nil {
		return &sluice.Error{Op: "build the local AWS", Resource: w.Sources(),
			Err:  fmt.Errorf("the local AWS answers: %w", err),
			Next: "remove what it names from a copy of the files, and run sluice sim --from COPY"}
	}
	if o.like.print {
		data, err := w.Text()
		if err == nil {
			_, err = p.Env.Out.Write(data)
		}
		return err
	}
	printNotes(p.Env.Out, w)
	return p.serveSim(ctx, s, o)
}

// findWorld returns the world that the flags name.
func (p *program) findWorld(ctx context.Context, l simSource) (*replica.World, error) {
	cluster, service := l.cluster, l.service
	region := ""
	if l.from != "" {
		app, err := p.LoadApplication(filepath.Clean(l.from))
		if err != nil {
			return nil, err
		}
		if !l.fromLive {
			return replica.FromFiles(app)
		}
		if app.Service == nil {
			return nil, &sluice.Error{Op: "sluice sim", Resource: app.File,
				Err:  errors.New("the application is a standalone task, and there is no service to copy"),
				Next: "leave --from-live out"}
		}
		cluster, service, region = app.ClusterName(), *app.Service.Input.ServiceName, app.Region
	}
	a, _, err := p.OpenAccount(ctx, region, "")
	if err != nil {
		return nil, err
	}
	live, err := replica.Read(ctx, a, cluster, service)
	if err != nil {
		return nil, err
	}
	return live.World()
}

// loadReplica loads a world into a local AWS.
func loadReplica(s *awssim.Sim, w *replica.World) error {
	data, err := w.Text()
	if err == nil {
		err = s.Load("world", data)
	}
	return err
}

// printNotes prints what differs from AWS before the local AWS starts.
func printNotes(out io.Writer, w *replica.World) {
	what := "cluster " + w.Clusters[0]
	for _, s := range w.Services {
		what = "service " + s.Cluster + "/" + s.Name
	}
	fmt.Fprintf(out, "# %s, built from %s\n", what, w.Sources())
	for _, n := range w.Notes {
		fmt.Fprintf(out, "# - %s\n", n)
	}
}
