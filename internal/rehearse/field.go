package rehearse

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/smithy-go/middleware"

	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/awssim/balancer"
	"github.com/sluice-ecs/sluice/awssim/callers"
	"github.com/sluice-ecs/sluice/awssim/image"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// rehearsal is one running rehearsal.
type field struct {
	Case
	clock   clock.Clock
	sim     *awssim.Sim
	tallies []*callers.Tally
	byNames []*callers.NameTally
	journal *journal.Journal
	life    *life
	account *account.Account
	engine  *engine.Engine
	plan    *plan.Plan
	task    *appfile.Application
	id      string
	from    time.Time // of the world
	began   time.Time // of the deployment

	person  bool // a person's command is being written
	outside bool // another actor is changing the world
	over    bool
	beside  int          // number of second sluices that run
	given   map[int]bool // interventions that were performed
	asked   map[int]bool // interventions that are scheduled
	stages  map[string]time.Time
	first   life // counts of the first process
	lives   int
	log     strings.Builder
	tracer  *tracer
	result  Result
	facts
}

func newField(c Case, k clock.Clock) *field {
	f := &field{Case: c, clock: k, from: k.Now(), given: map[int]bool{}, asked: map[int]bool{}, stages: map[string]time.Time{}}
	f.facts.make()
	return f
}

// buildWorld builds the world and its callers.
func (f *field) lay() (err error) {
	images, serving, err := f.images()
	if err != nil {
		return err
	}
	f.sim, err = awssim.New(awssim.Options{Clock: f.clock, Seed: f.Seed, Images: images, Strict: true, Direct: !f.Codec, Account: f.World.Account, Region: f.World.Region})
	if err != nil {
		return err
	}
	if err := f.sim.Load("world.yaml", f.World.File(serving)); err != nil {
		return err
	}
	if err := f.layJob(); err != nil {
		return err
	}
	f.layLeft()
	f.sleep(f.World.Scaling.Since)
	f.inWorld(f.quiet)
	f.inWorld(f.remember)
	f.sim.World().Check(world.Check{Name: "rehearsal", Each: func(tx *world.Tx, c world.Change) error { f.step(tx, c); return nil }})
	f.World.rules(func(l Listener, r Rule) {
		f.tallies = append(f.tallies, callers.Attach(f.sim.World(), f.sim.Balancer(), callers.Caller{Key: f.key(), Balancer: f.World.Balancer, Port: l.Port,
			Request: balancer.Request{Method: "GET", Scheme: "http", Host: "web", Path: strings.TrimSuffix(r.Path, "*")}, Rate: float64(cmp.Or(f.World.Rate, Rate))}))
	})
	if f.World.byName() {
		f.callByName()
	}
	return nil
}

// openJournal opens the journal. Its writes are hooked, so that a kill can end a process there.
func (f *field) remembers() (err error) {
	if f.journal, err = journal.Open(journal.Memory, f.clock); err != nil {
		return err
	}
	f.journal.Around(func(op string, write func() error) error {
		if f.person || f.life == nil || f.over {
			return write()
		}
		return f.life.row(op, func() error {
			err := write()
			f.tracer.row(f, op)
			return err
		})
	})
	return nil
}

// buildImages defines what the images of both versions do.
func (f *field) images() (image.Catalog, string, error) {
	old, err := f.behaviour("old", f.Old)
	if err != nil {
		return nil, "", err
	}
	fresh, err := f.behaviour("new", f.New)
	if err != nil {
		return nil, "", err
	}
	catalogue := image.Catalog{oldImage: old, newImage: fresh, leftImage: image.Behaviour{Version: "left"}}
	if f.Files == nil {
		return catalogue, oldImage, errors.Join(f.stepImages(catalogue), f.jobImages(catalogue))
	}
	app, err := f.load()
	if err != nil {
		return nil, "", err
	}
	for _, c := range app.Task.Input.ContainerDefinitions {
		if c.Image != nil {
			catalogue[*c.Image] = image.Behaviour{Version: "beside"}
		}
	}
	if i := mainImage(app); i != "" {
		catalogue[i] = fresh
	}
	endSteps(catalogue, app, f.Fails)
	return catalogue, oldImage, nil
}

// versionBehaviour returns a version's behaviour: its own options, otherwise the world's.
func (f *field) behaviour(version, options string) (image.Behaviour, error) {
	var all []string
	if options != "" {
		all = append(all, options)
	}
	usual := func(name string, d time.Duration) {
		if d > 0 && !strings.Contains("&"+options, "&"+name+"=") {
			all = append(all, name+"="+d.String())
		}
	}
	usual("latency", f.World.Lasts)
	if f.World.Lasts > 0 {
		usual("check-latency", time.Millisecond) // health checks are faster than requests
	}
	usual("healthy-after", f.World.Boot)
	usual("term", f.World.Stop)
	ref := "sim/web:" + version
	if len(all) > 0 {
		ref += "?" + strings.Join(all, "&")
	}
	return image.Parse(ref)
}

// mainImage returns the image of the container that takes requests, otherwise of the first
// essential one.
func mainImage(app *appfile.Application) string {
	name, fallback := "", ""
	if app.Primary != nil {
		name = app.Primary.Container
	} else if app.Service != nil && len(app.Service.Input.LoadBalancers) > 0 && app.Service.Input.LoadBalancers[0].ContainerName != nil {
		name = *app.Service.Input.LoadBalancers[0].ContainerName
	}
	for _, c := range app.Task.Input.ContainerDefinitions {
		switch {
		case c.Image == nil || c.Name == nil:
		case *c.Name == name:
			return *c.Image
		case fallback == "" && (c.Essential == nil || *c.Essential):
			fallback = *c.Image
		}
	}
	return fallback
}

// loadApp reads the application: the user's own, or the generated one.
func (c Case) app() (*appfile.Application, error) {
	if c.Files == nil {
		return appfile.Load(c.Application(), "sluice.yaml", nil)
	}
	return appfile.Load(c.Files, c.File, c.Lookup)
}

// loadFitted reads the application. It sets the world's subnets in a user's own application.
func (f *field) load() (*appfile.Application, error) {
	app, err := f.app()
	if f.Files == nil {
		return app, err
	}
	if err != nil || app.Service == nil {
		return app, err
	}
	if n := app.Service.Input.NetworkConfiguration; n != nil && n.AwsvpcConfiguration != nil {
		n.AwsvpcConfiguration.Subnets = f.World.Subnets
	}
	return app, nil
}

// openAccount opens an account on the simulated AWS, with the hooks of a process if there is one.
func (f *field) open(c clock.Clock, l *life) (*account.Account, error) {
	cfg := f.sim.Config()
	a := account.Config{Region: cfg.Region, Credentials: cfg.Credentials, EndpointURL: awssim.Endpoint, HTTPClient: f.sim.HTTPClient(), Clock: c,
		APIOptions: f.sim.APIOptions()}
	if l != nil {
		a.APIOptions = append(append([]func(*middleware.Stack) error{}, a.APIOptions...), l.middleware)
		a.OnCall = f.called
	}
	return account.Open(context.Background(), a)
}

func (f *field) say(format string, args ...any) {
	fmt.Fprintf(&f.log, "%s %s\n", f.clock.Now().Sub(f.from).Round(time.Millisecond), fmt.Sprintf(format, args...))
}

// failRehearsal records an error of the rehearsal itself or of the simulator.
func (f *field) broken(format string, args ...any) { f.violate("rehearsal", format, args...) }

func (f *field) violate(promise, format string, args ...any) {
	text := promise + ": " + fmt.Sprintf(format, args...)
	f.say("violated: %s", text)
	f.result.Violations = append(f.result.Violations, text)
}

// journalText returns the deployment's rows in the journal.
func (f *field) kept() (string, error) {
	ctx := context.Background()
	d, err := f.journal.Deployment(ctx, f.id)
	events, err2 := f.journal.Events(ctx, f.id, 0, 0)
	text, err3 := json.Marshal(events)
	return string(d.Plan) + d.Cause + string(text), errors.Join(err, err2, err3)
}
