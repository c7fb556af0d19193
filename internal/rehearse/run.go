package rehearse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/smithy-go/middleware"

	"github.com/sluice-ecs/sluice"
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
	"github.com/sluice-ecs/sluice/internal/stage"
)

// dawn is when every rehearsal begins, so that the same case gives the same bytes.
// It lies after the machine's now, with which the SDK compares credentials.
func dawn() time.Time { return time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC) }

// Rate is the requests per second that callers make on each path.
const Rate = 200

// Result is what came of a rehearsal.
type Result struct {
	Outcome      sluice.Outcome // "" if there was no deployment to end
	Cause, Next  string
	Requests     float64       // made while the deployment ran
	Failed       float64       // of them, lost
	WorstShare   float64       // highest share of the requests that the new version had, 0 to 1
	Exposed      time.Duration // how long it had any
	TimeToSafety time.Duration // from its first request to its last; 0 if it serves in the end, or never did
	Took         time.Duration // of the deployment, in the world's time
	Stages       []Took
	State        string   // how the service stands afterwards, in a line
	Violations   []string // of the promises, each beginning with its name: "P1: …"
	Writes, Rows int      // that the first process made: where a [Kill] can be
	Losses       []string // the first requests that were lost, and why
	Log          string   // events, hands and deaths, a line each
}

// Took is how long a stage lasted.
type Took struct {
	Stage string
	For   time.Duration
}

// field is one rehearsal under way.
type field struct {
	Case
	clock   *clock.Virtual
	sim     *awssim.Sim
	tallies []*callers.Tally
	journal *journal.Journal
	life    *life
	account *account.Account
	engine  *engine.Engine
	plan    *plan.Plan
	task    *appfile.Application
	id      string
	began   time.Time

	person  bool // a command is being written
	outside bool // somebody else acts on the world
	over    bool
	beside  int          // second sluices at work
	given   map[int]bool // hands that have acted
	stages  map[string]time.Time
	first   life // what the first process did
	lives   int
	log     strings.Builder
	result  Result
	facts
}

// Run plays a case to its end and holds it against the promises.
func Run(c Case) (r Result) {
	f := &field{Case: c, clock: clock.NewVirtual(dawn()), given: map[int]bool{}, stages: map[string]time.Time{}}
	f.facts.make()
	defer func() {
		if p := recover(); p != nil {
			f.broken("panic: %v", p)
			r = f.result
			r.Log = f.log.String()
		}
	}()
	f.clock.Run(f.play)
	f.result.Log = f.log.String()
	return f.result
}

// play is the whole rehearsal, as the clock's first actor.
func (f *field) play() {
	if err := f.lay(); err != nil {
		f.broken("the world cannot be laid: %v", err)
		return
	}
	defer f.journal.Close()
	if err := f.start(); err != nil {
		f.refused(err)
		return
	}
	f.hands()
	f.untilEnded()
	f.over = true
	f.tell()
	f.sim.ClearFaults()
	f.judge()
}

// lay builds the world, its callers and a journal.
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
	f.inWorld(f.remember)
	f.sim.World().Check(world.Check{Name: "rehearsal", Each: func(tx *world.Tx, c world.Change) error { f.step(tx, c); return nil }})
	f.World.rules(func(l Listener, r Rule) {
		f.tallies = append(f.tallies, callers.Attach(f.sim.World(), f.sim.Balancer(), callers.Caller{Key: f.key(), Balancer: f.World.Balancer, Port: l.Port,
			Request: balancer.Request{Method: "GET", Scheme: "http", Host: "web", Path: strings.TrimSuffix(r.Path, "*")}, Rate: Rate}))
	})
	if f.journal, err = journal.Open(journal.Memory, f.clock); err != nil {
		return err
	}
	f.journal.Around(func(op string, write func() error) error {
		if f.person || f.life == nil || f.over {
			return write()
		}
		return f.life.row(op, write)
	})
	return nil
}

// images says what the two versions do.
func (f *field) images() (image.Catalog, string, error) {
	old, err := behaviour("old", f.Old)
	if err != nil {
		return nil, "", err
	}
	fresh, err := behaviour("new", f.New)
	if err != nil {
		return nil, "", err
	}
	catalogue := image.Catalog{oldImage: old, newImage: fresh}
	if f.Files == nil {
		return catalogue, oldImage, nil
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
	return catalogue, oldImage, nil
}

func behaviour(version, options string) (image.Behaviour, error) {
	ref := "sim/web:" + version
	if options != "" {
		ref += "?" + options
	}
	return image.Parse(ref)
}

// mainImage is the image of the container that takes requests, else of the first
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

// load reads the application: the user's own, fitted to the world, or the drawn.
func (f *field) load() (*appfile.Application, error) {
	none := func(string) (string, bool) { return "", false }
	if f.Files == nil {
		return appfile.Load(f.files(), "sluice.yaml", none)
	}
	app, err := appfile.Load(f.Files, f.File, none)
	if err != nil || app.Service == nil {
		return app, err
	}
	if n := app.Service.Input.NetworkConfiguration; n != nil && n.AwsvpcConfiguration != nil {
		n.AwsvpcConfiguration.Subnets = f.World.Subnets
	}
	return app, nil
}

// open is an account on the world, through a process's seams if it has one.
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

// start plans the application and records its deployment.
func (f *field) start() (err error) {
	if err := f.born(); err != nil {
		return err
	}
	if f.task, err = f.load(); err != nil {
		return err
	}
	ctx := context.Background()
	live, err := stage.Survey(ctx, f.account, f.clock, f.task)
	if err != nil {
		return err
	}
	if f.plan, err = plan.Make(f.task, live, plan.Options{QuickSync: f.QuickSync}); err != nil {
		return err
	}
	f.began = f.clock.Now()
	f.person = true
	f.id, err = f.engine.Start(ctx, f.plan, engine.ByHand)
	f.person = false
	if err != nil {
		return err
	}
	for _, line := range f.Faults {
		if err := f.sim.Inject(line); err != nil {
			return err
		}
	}
	return nil
}

// refused is the end of a case whose application cannot be deployed.
func (f *field) refused(err error) {
	if f.Files == nil {
		f.broken("the case cannot be deployed: %v", err)
	}
	f.result.Cause, f.result.Next = err.Error(), sluice.NextStep(err)
}

// born starts a process of sluice, which will die where the case says.
func (f *field) born() (err error) {
	l := &life{real: f.clock, wrote: f.wrote}
	if f.lives < len(f.Kills) {
		l.kill = f.Kills[f.lives]
	}
	if f.lives == 0 {
		l.full = f.Full
	}
	f.lives++
	f.life = l
	if f.account, err = f.open(l, l); err != nil {
		return err
	}
	owner := fmt.Sprintf("rehearsal/%d", f.lives)
	f.engine = &engine.Engine{Journal: f.journal, Account: f.account, Clock: l, Owner: owner,
		Alive: func(o string) bool { return o == owner },
		NewID: func() string { return plan.IDPrefix + "rehearsed" },
		Watch: f.watch}
	if f.id == "" {
		return nil
	}
	if _, err := f.engine.Supply(context.Background(), f.id, f.task.Task); err != nil {
		return err
	}
	return f.catchUp()
}

// Waits of the person who runs sluice again.
const (
	restart  = 5 * time.Second // after a kill
	patience = time.Minute     // after a pause: credentials, a full disk
	tries    = 20              // before the faults are taken away
)

// untilEnded runs the deployment, and runs it again after each death and pause.
func (f *field) untilEnded() {
	for n := 1; ; n++ {
		end, err, died := f.runOnce()
		if f.lives == 1 {
			f.first = *f.life
		}
		if !died && err == nil && end.State == journal.Ended {
			f.result.Outcome, f.result.Cause, f.result.Next = end.Outcome, end.Cause, end.Next
			return
		}
		if n == 2*tries {
			f.violate("P2", "it does not end: %s %v", end.State, err)
			return
		}
		wait := patience
		if died {
			wait = restart
			f.say("killed %s", f.life.at)
		} else {
			f.say("left: %s %v", end.State, err)
		}
		if n == tries {
			f.sim.ClearFaults()
		}
		f.sleep(wait)
		if err := f.born(); err != nil {
			f.broken("sluice cannot be started again: %v", err)
			return
		}
	}
}

func (f *field) runOnce() (end engine.Ended, err error, died bool) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	f.life.end = cancel
	defer func() {
		if r := recover(); r != nil {
			rest(r)
			died = true
		}
	}()
	end, err = f.engine.Run(ctx, f.id, engine.Options{})
	return end, err, f.life.dead
}

// watch sees each event as it is journaled.
func (f *field) watch(e sluice.Envelope) {
	fmt.Fprintf(&f.log, "%s [%s] %s %s\n", e.At.Sub(dawn()).Round(time.Millisecond), e.Stage, e.Kind, e.Data)
	switch ev := e.Open().(type) {
	case sluice.StageStarted:
		if _, begun := f.stages[e.Stage]; !begun {
			f.stages[e.Stage] = e.At
		}
	case sluice.StageEnded:
		f.result.Stages = append(f.result.Stages, Took{e.Stage, e.At.Sub(f.stages[e.Stage])})
		f.stageEnded(ev.Index + 1)
	case sluice.ApprovalAwaited:
		f.approve(ev)
	}
}

// approve answers for as many people as are missing.
func (f *field) approve(ev sluice.ApprovalAwaited) {
	f.person = true
	defer func() { f.person = false }()
	for n := range ev.Missing {
		by := fmt.Sprintf("person %d", n+1)
		if n < len(ev.Approvers) {
			by = ev.Approvers[n]
		}
		_, err := f.journal.Command(context.Background(), journal.Command{Deployment: f.id, Kind: journal.Approve, Stage: fmt.Sprint(ev.Index), By: by})
		if err != nil {
			f.broken("approve: %v", err)
		}
	}
}

// hands lets those act whose time comes.
func (f *field) hands() {
	for i, h := range f.Hands {
		if h.Stage == 0 {
			f.clock.Go(func() { f.after(h.At, func() { f.once(i) }) })
		}
	}
}

func (f *field) once(i int) {
	if !f.given[i] {
		f.given[i] = true
		f.do(f.Hands[i])
	}
}

func (f *field) stageEnded(n int) {
	for i, h := range f.Hands {
		if h.Stage == n {
			f.once(i)
		}
	}
}

// catchUp lets the hands act that wait for a stage whose end only a dead process
// has seen.
func (f *field) catchUp() error {
	stages, err := f.journal.Stages(context.Background(), f.id)
	for _, s := range stages {
		if s.Status == journal.StageDone {
			f.stageEnded(s.Index + 1)
		}
	}
	return err
}

func (f *field) command(kind string) {
	f.person = true
	defer func() { f.person = false }()
	if _, err := f.journal.Command(context.Background(), journal.Command{Deployment: f.id, Kind: kind, By: "somebody"}); err != nil {
		f.broken("%s: %v", kind, err)
	}
}

// second is another machine's sluice that deploys the same service.
func (f *field) second() {
	f.beside++
	f.clock.Go(func() {
		defer func() { f.beside-- }()
		end, err := f.elsewhere()
		f.say("second: %s %s %v", end.Outcome, end.Cause, err)
	})
}

func (f *field) elsewhere() (engine.Ended, error) {
	ctx := context.Background()
	a, err := f.open(f.clock, nil)
	if err != nil {
		return engine.Ended{}, err
	}
	j, err := journal.Open(journal.Memory, f.clock)
	if err != nil {
		return engine.Ended{}, err
	}
	defer j.Close()
	e := &engine.Engine{Journal: j, Account: a, Clock: f.clock, Owner: "elsewhere/1", NewID: func() string { return plan.IDPrefix + "second" }}
	app, err := f.load()
	if err != nil {
		return engine.Ended{}, err
	}
	live, err := stage.Survey(ctx, a, f.clock, app)
	if err != nil {
		return engine.Ended{}, err
	}
	p, err := plan.Make(app, live, plan.Options{})
	if err != nil {
		return engine.Ended{}, err
	}
	f.seconds = append(f.seconds, p)
	id, err := e.Start(ctx, p, engine.ByHand)
	if err != nil {
		return engine.Ended{}, err
	}
	end, err := e.Run(ctx, id, engine.Options{})
	f.secondRan = f.secondRan || end.Outcome == sluice.Succeeded || end.Outcome == sluice.RolledBack
	return end, err
}

// after does something later, unless the rehearsal is over.
func (f *field) after(d time.Duration, do func()) {
	f.sleep(d)
	if !f.over {
		do()
	}
}

func (f *field) sleep(d time.Duration) {
	if err := f.clock.Sleep(context.Background(), d); err != nil {
		f.broken("sleep: %v", err)
	}
}

func (f *field) say(format string, args ...any) {
	fmt.Fprintf(&f.log, "%s %s\n", f.clock.Now().Sub(dawn()).Round(time.Millisecond), fmt.Sprintf(format, args...))
}

// broken is a rehearsal that is at fault itself, or found a defect of the simulator.
func (f *field) broken(format string, args ...any) { f.violate("rehearsal", format, args...) }

func (f *field) violate(promise, format string, args ...any) {
	text := promise + ": " + fmt.Sprintf(format, args...)
	f.say("violated: %s", text)
	f.result.Violations = append(f.result.Violations, text)
}

// kept are the rows of the deployment as they stand in the journal.
func (f *field) kept() (string, error) {
	ctx := context.Background()
	d, err := f.journal.Deployment(ctx, f.id)
	events, err2 := f.journal.Events(ctx, f.id, 0, 0)
	text, err3 := json.Marshal(events)
	return string(d.Plan) + d.Cause + string(text), errors.Join(err, err2, err3)
}
