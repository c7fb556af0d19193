package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/replica"
)

// simSource is what a local AWS is built from: an application's files, or a service in AWS.
type simSource struct {
	from     string
	fromLive bool
	cluster  string
	service  string
	print    bool
}

func (l *simSource) register(f *pflag.FlagSet) {
	f.StringVar(&l.from, "from", "", "build the world that the application in this `folder` expects")
	f.BoolVar(&l.fromLive, "from-live", false, "build the world from a service in AWS; only reads AWS")
	f.StringVar(&l.cluster, "cluster", "", "`cluster` of --from-live, if --from is not given")
	f.StringVar(&l.service, "service", "", "`service` of --from-live, if --from is not given")
	f.BoolVar(&l.print, "print-world", false, "with --from or --from-live: print the world file, and start nothing")
}

func (l *simSource) isGiven() bool { return *l != simSource{} }

// check refuses flags that do not fit together.
func (l *simSource) check(world string) error {
	wrong := func(next, format string, args ...any) error {
		return &sluice.Error{Op: "sluice sim", Err: fmt.Errorf(format, args...), Next: next}
	}
	switch named := l.cluster != "" || l.service != ""; {
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
	if err := loadReplica(s, w); err != nil {
		return explainUnsimulated(w, err)
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
		if !l.fromLive || app.Service == nil {
			return replica.FromFiles(app)
		}
		cluster, service, region = session.ClusterName(app), *app.Service.Input.ServiceName, app.Region
	}
	a, _, err := p.OpenAccount(ctx, region)
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
	for _, s := range w.Services {
		printWrapped(out, "# ", "#   ", fmt.Sprintf("service %s/%s, built from %s and %s", s.Cluster, s.Name,
			w.Files.Task, w.Files.Service))
	}
	for _, n := range w.Notes {
		printWrapped(out, "# - ", "#   ", n)
	}
}

// sentenceWidth is the maximum width of a sentence, in characters.
const sentenceWidth = 80

// printWrapped prints a sentence in lines of at most sentenceWidth, if its words allow it. first
// begins the first line, next the others.
func printWrapped(out io.Writer, first, next, text string) {
	line := first
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			line += word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > sentenceWidth:
			fmt.Fprintln(out, line)
			line = next + word
		default:
			line += " " + word
		}
	}
	fmt.Fprintln(out, line)
}

// explainUnsimulated returns one error for each part that the local AWS cannot have, by its key and
// file.
func explainUnsimulated(w *replica.World, err error) error {
	build := func(w *replica.World) error {
		s, err := awssim.New(awssim.Options{})
		if err != nil {
			return err
		}
		return loadReplica(s, w)
	}
	var all []error
	for _, f := range w.FindRefused(build) {
		all = append(all, &sluice.Error{Op: "build the local AWS", Resource: f.Place(), Err: errors.New(f.Text())})
	}
	if len(all) == 0 {
		all = append(all, &sluice.Error{Op: "build the local AWS", Err: err})
	}
	if last, ok := all[len(all)-1].(*sluice.Error); ok {
		last.Next = "remove these parts in a copy of the files, and run sluice sim --from COPY; nothing was started"
	}
	return errors.Join(all...)
}
