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
	"github.com/sluice-ecs/sluice/awssim/image"
	"github.com/sluice-ecs/sluice/awssim/loadbalancer"
	"github.com/sluice-ecs/sluice/awssim/loadgen"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
)

// Rehearsal is one running rehearsal. Users of the package see it only in an [Extension].
type Rehearsal struct {
	Case
	Clock  clock.Clock
	Sim    *awssim.Sim
	Plan   *plan.Plan // nil before it is made
	Result Result

	extension   Extension
	tallies     []*loadgen.Tally
	nameTallies []*loadgen.NameTally
	journal     *journal.Journal
	process     *process
	account     *account.Account
	engine      *engine.Engine
	application *appfile.Application
	id          string
	worldStart  time.Time // of the world
	startedAt   time.Time // of the deployment

	personActs     bool // a person's command is being written
	externalActs   bool // another actor is changing the world
	isOver         bool
	secondsRunning int          // number of second sluices that run
	acted          map[int]bool // interventions that were performed
	scheduled      map[int]bool // interventions that are scheduled
	stageStarts    map[string]time.Time
	firstProcess   process // counts of the first process
	processCount   int
	log            strings.Builder
	observed
}

func newRehearsal(c Case, k clock.Clock) *Rehearsal {
	f := &Rehearsal{Case: c, Clock: k, worldStart: k.Now(), acted: map[int]bool{}, scheduled: map[int]bool{},
		stageStarts: map[string]time.Time{}}
	f.observed.initMaps()
	return f
}

// buildWorld builds the world and its callers.
func (f *Rehearsal) buildWorld() (err error) {
	images, serving, err := f.buildImages()
	if err != nil {
		return err
	}
	f.Sim, err = awssim.New(awssim.Options{Clock: f.Clock, Seed: f.Seed, Images: images, Strict: true, Direct: !f.Codec,
		Account: f.World.Account, Region: f.World.Region})
	if err != nil {
		return err
	}
	if err := f.Sim.Load("world.yaml", f.World.File(serving)); err != nil {
		return err
	}
	if f.extension.Build != nil {
		if err := f.extension.Build(); err != nil {
			return err
		}
	}
	f.Sleep(f.World.Scaling.Since)
	f.InWorld(f.addAlarm)
	f.InWorld(f.snapshotWorld)
	f.Sim.World().AddInvariant(world.Invariant{Name: "rehearsal",
		CheckChange: func(tx *world.Tx, c world.Change) error { f.checkChange(tx, c); return nil }})
	f.World.EachRule(func(l shape.Listener, r shape.Rule) {
		f.tallies = append(f.tallies, loadgen.Attach(f.Sim.World(), f.Sim.Balancer(),
			loadgen.Caller{Key: f.worldKey(), Balancer: f.World.Balancer, Port: l.Port,
				Request: loadbalancer.Request{Method: "GET", Scheme: "http", Host: "web",
					Path: strings.TrimSuffix(r.Path, "*")}, Rate: float64(cmp.Or(f.World.Rate, Rate)),
				Hold: connectionHold}))
	})
	if f.World.UsesCloudMap() {
		f.attachNameCallers()
	}
	return nil
}

// openJournal opens the journal. Its writes are hooked, so that a kill can end a process there.
func (f *Rehearsal) openJournal() (err error) {
	if f.journal, err = journal.Open(cmp.Or(f.extension.JournalPath, journal.Memory), f.Clock); err != nil {
		return err
	}
	f.journal.WrapWrites(func(op string, write func() error) error {
		if f.personActs || f.process == nil || f.isOver {
			return write()
		}
		return f.process.writeRow(op, func() error {
			err := write()
			if f.extension.OnRow != nil {
				f.extension.OnRow(op)
			}
			return err
		})
	})
	return nil
}

// buildImages defines what the images of both versions do.
func (f *Rehearsal) buildImages() (image.Catalog, string, error) {
	old, err := f.versionBehaviour("old", f.Old)
	if err != nil {
		return nil, "", err
	}
	fresh, err := f.versionBehaviour("new", f.New)
	if err != nil {
		return nil, "", err
	}
	catalogue := image.Catalog{OldImage: old}
	if f.extension.AddImages != nil {
		return catalogue, OldImage, f.extension.AddImages(catalogue, fresh)
	}
	app, err := f.LoadApplication()
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
	setStepEnds(catalogue, app, f.FailingStep)
	return catalogue, OldImage, nil
}

// versionBehaviour returns a version's behaviour: its own options, otherwise the world's.
func (f *Rehearsal) versionBehaviour(version, options string) (image.Behaviour, error) {
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
	} else if app.Service != nil && len(app.Service.Input.LoadBalancers) > 0 &&
		app.Service.Input.LoadBalancers[0].ContainerName != nil {
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

// LoadApplication reads the application. It sets the world's subnets in a user's own application.
func (f *Rehearsal) LoadApplication() (*appfile.Application, error) {
	app, err := appfile.Load(f.Files, f.File, f.Lookup)
	if err != nil || f.Generated || app.Service == nil {
		return app, err
	}
	if n := app.Service.Input.NetworkConfiguration; n != nil && n.AwsvpcConfiguration != nil {
		n.AwsvpcConfiguration.Subnets = f.World.Subnets
	}
	return app, nil
}

// openAccount opens an account on the simulated AWS, with the hooks of a process if there is one.
func (f *Rehearsal) openAccount(c clock.Clock, l *process) (*account.Account, error) {
	cfg := f.Sim.Config()
	a := account.Config{Region: cfg.Region, Credentials: cfg.Credentials, EndpointURL: awssim.Endpoint,
		HTTPClient: f.Sim.HTTPClient(), Clock: c,
		APIOptions: f.Sim.APIOptions()}
	if l != nil {
		a.APIOptions = append(append([]func(*middleware.Stack) error{}, a.APIOptions...), l.addMiddleware)
		a.OnCall = f.checkCall
	}
	return account.Open(context.Background(), a)
}

// LogLine adds a line to the log.
func (f *Rehearsal) LogLine(format string, args ...any) {
	fmt.Fprintf(&f.log, "%s %s\n", f.Clock.Now().Sub(f.worldStart).Round(time.Millisecond),
		fmt.Sprintf(format, args...))
}

// Fail records an error of the rehearsal itself or of the simulator.
func (f *Rehearsal) Fail(format string, args ...any) {
	f.AddViolation("rehearsal", format, args...)
}

// AddViolation records that a promise is broken.
func (f *Rehearsal) AddViolation(promise, format string, args ...any) {
	text := promise + ": " + fmt.Sprintf(format, args...)
	f.LogLine("violated: %s", text)
	f.Result.Violations = append(f.Result.Violations, text)
}

// journalText returns the deployment's rows in the journal.
func (f *Rehearsal) journalText() (string, error) {
	ctx := context.Background()
	d, err := f.journal.Deployment(ctx, f.id)
	events, err2 := f.journal.Events(ctx, f.id, 0, 0)
	text, err3 := json.Marshal(events)
	return string(d.Plan) + d.Cause + string(text), errors.Join(err, err2, err3)
}
