package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage"
)

// leaseDuration is how long an engine keeps its lease without renewing it. It renews at every poll.
const leaseDuration = time.Minute

// Engine runs deployments of one account and Region.
type Engine struct {
	Journal *journal.Journal
	Account *account.Account
	Clock   clock.Clock
	// Endpoint is recorded with each new deployment. The zero value is AWS itself.
	Endpoint journal.Endpoint
	// By names who starts new deployments. It is recorded with them.
	By string
	// Owner names this process in leases: "<host>/<pid>".
	Owner string
	// IsAlive reports whether the process of that name still runs. Nil means unknown:
	// a lease must then expire before another process takes it.
	IsAlive func(owner string) bool
	// NewID creates the ID of a deployment; it begins with [plan.IDPrefix].
	NewID     func() string
	fullPlans map[string]*plan.Plan // plans of this process, with the values that the journal does not keep
	// OutsideAWS is what gates use besides AWS; nil: nothing, and such gates fail.
	OutsideAWS *stage.OutsideAWS
	// OnEvent is called with each event after it is in the journal, by one goroutine at a time. Nil:
	// no callback.
	OnEvent func(sluice.Envelope)
	emits   sync.Mutex // held while an event is recorded and shown: both have the same order
}

// Options change how a run behaves.
type Options struct {
	// NoWait: Run returns where [plan.Plan.EndsNoWait] says and if gates ask a person, or after a rolling deployment is
	// requested: ECS continues it.
	NoWait bool
	// Until is where Run returns, and AWS continues the deployment: a lifecycle event of CodeDeploy after it has
	// succeeded, or what [watch.Update.HasReached] names. Empty: it returns nowhere.
	Until string
}

// LeaseResource returns the name of the lease on a deployment's service. Services of AWS and of a
// local AWS have different leases.
func LeaseResource(d journal.Deployment) string {
	name := d.Account + "/" + d.Region + "/" + d.Cluster + "/" + d.Service
	if at := cmp.Or(d.Endpoint.World, d.Endpoint.URL); at != "" {
		name += " at " + at
	}
	return name
}

// Start records a new deployment of the plan; [Engine.Run] runs it. It returns an error if the
// service has an unfinished deployment.
func (e *Engine) Start(ctx context.Context, p *plan.Plan, trigger string) (string, error) {
	open, err := e.Journal.Deployments(ctx, journal.Filter{Account: p.Account, Region: p.Region, Cluster: p.Cluster,
		Service: p.Service, At: &e.Endpoint, Open: true, Limit: 1})
	if err != nil {
		return "", err
	}
	if len(open) > 0 {
		return "", &sluice.Error{Op: "start a deployment", Resource: p.Cluster + "/" + p.Service,
			Kind: sluice.Overtaken,
			Err:  fmt.Errorf("deployment %s of the service is %s", open[0].ID, open[0].State),
			Next: "end that deployment first: sluice resume, sluice rollback or sluice abort"}
	}
	if err := e.findEarlier(ctx, p); err != nil {
		return "", err
	}
	data, err := json.Marshal(p.ForJournal())
	if err != nil {
		return "", fmt.Errorf("encode the plan: %w", err)
	}
	d := journal.Deployment{ID: e.NewID(), Application: p.Application, Account: p.Account, Region: p.Region,
		Cluster: p.Cluster, Service: p.Service, Endpoint: e.Endpoint, Trigger: trigger, By: e.By, State: journal.Running,
		Plan: data}
	if err := e.Journal.CreateDeployment(ctx, d); err != nil {
		return "", err
	}
	e.rememberPlan(d.ID, p)
	return d.ID, e.emitEvent(ctx, d.ID, "", startedEvent(p, trigger))
}

// maxEarlier is how many deployments are searched for a stage with the same gate.
const maxEarlier = 50

// findEarlier gives gates that compare with an earlier deployment the time of its stage: of the newest
// successful deployment of the service that had the gate.
func (e *Engine) findEarlier(ctx context.Context, p *plan.Plan) error {
	if !p.HasEarlierGates() {
		return nil
	}
	past, err := e.Journal.Deployments(ctx, journal.Filter{Account: p.Account, Region: p.Region, Cluster: p.Cluster,
		Service: p.Service, At: &e.Endpoint, Limit: maxEarlier})
	if err != nil {
		return err
	}
	for _, d := range past {
		if d.Outcome != sluice.Succeeded {
			continue
		}
		var old plan.Plan
		if err := json.Unmarshal(d.Plan, &old); err != nil {
			continue // of another version; it has no such gate
		}
		stages, err := e.Journal.Stages(ctx, d.ID)
		if err != nil {
			return err
		}
		began := map[int]time.Time{}
		for _, s := range stages {
			began[s.Index] = s.Began
		}
		if p.CompareWithEarlier(func(stage, gate string) time.Time { return began[old.StageOfGate(stage, gate)] }) {
			return nil
		}
	}
	return nil
}

func startedEvent(p *plan.Plan, trigger string) sluice.DeploymentStarted {
	ev := sluice.DeploymentStarted{Application: p.Application, Cluster: p.Cluster, Service: p.Service, Region: p.Region,
		Trigger: trigger, From: p.From, To: p.To}
	for _, s := range p.Stages {
		ev.Stages = append(ev.Stages, s.Name)
	}
	return ev
}

func (e *Engine) rememberPlan(id string, p *plan.Plan) {
	if e.fullPlans == nil {
		e.fullPlans = map[string]*plan.Plan{}
	}
	e.fullPlans[id] = p
}

// RestoreSecrets gives a deployment the values of its files that the journal does not keep. It
// reports whether the task definition is the planned one.
func (e *Engine) RestoreSecrets(ctx context.Context, id string, app *appfile.Application) (bool, error) {
	p, err := e.Plan(ctx, id)
	if err != nil || !p.RestoreDefinitions(app) {
		return false, err
	}
	e.rememberPlan(id, p)
	return true, nil
}

// fullPlan returns the plan to run: with all values if this process has them, otherwise as the
// journal has it.
func (e *Engine) fullPlan(d journal.Deployment) (*plan.Plan, error) {
	if p := e.fullPlans[d.ID]; p != nil {
		return p, nil
	}
	return decodePlan(d)
}

// Plan reads the plan of a deployment.
func (e *Engine) Plan(ctx context.Context, id string) (*plan.Plan, error) {
	d, err := e.Journal.Deployment(ctx, id)
	if err != nil {
		return nil, err
	}
	return decodePlan(d)
}

func decodePlan(d journal.Deployment) (*plan.Plan, error) {
	p := &plan.Plan{}
	if err := json.Unmarshal(d.Plan, p); err != nil {
		return nil, fmt.Errorf("read the plan of %s: %w", d.ID, err)
	}
	if p.Schema != plan.Schema {
		return nil, fmt.Errorf("the plan of %s has schema %s; this sluice reads %s", d.ID, p.Schema, plan.Schema)
	}
	return p, nil
}

// SendCommand records a command for a deployment. The engine that runs it, or the next one, reads
// it. stage is an index and is used for [journal.Approve] only.
func (e *Engine) SendCommand(ctx context.Context, id, kind string, stage int, by string) error {
	_, err := e.Journal.AddCommand(ctx, journal.Command{Deployment: id, Kind: kind, Stage: fmt.Sprint(stage), By: by})
	return err
}

// Reopen sets an ended deployment back to running, so that it can be rolled back.
func (e *Engine) Reopen(ctx context.Context, id string) error {
	d, err := e.Journal.Deployment(ctx, id)
	if err != nil || d.State != journal.Ended {
		return err
	}
	p, err := decodePlan(d)
	if err != nil {
		return err
	}
	stages, err := e.Journal.Stages(ctx, id)
	if err != nil {
		return err
	}
	if err := e.Journal.SetState(ctx, id, journal.Running); err != nil {
		return err
	}
	for _, s := range stages {
		if s.Index == len(p.Stages) {
			_, err = e.Journal.BeginStage(ctx, id, s.Index, s.Name)
		}
	}
	return err
}

// RunResult is how a run ended. A deployment that has not ended has State Waiting or Paused.
type RunResult struct {
	journal.Deployment
	WaitingFor string // what the deployment waits for
}

// emitEvent records an event in the journal and passes it to OnEvent.
func (e *Engine) emitEvent(ctx context.Context, deployment, stage string, ev sluice.Event) error {
	e.emits.Lock()
	defer e.emits.Unlock()
	env, err := e.Journal.AppendEvent(context.WithoutCancel(ctx), sluice.Seal(deployment, stage, ev))
	if err == nil && e.OnEvent != nil {
		e.OnEvent(env)
	}
	return err
}

// showEvent passes an event that the journal does not keep to OnEvent.
func (e *Engine) showEvent(deployment, stage string, ev sluice.Event) {
	if e.OnEvent == nil {
		return
	}
	env := sluice.Seal(deployment, stage, ev)
	env.At = e.Clock.Now()
	e.emits.Lock()
	defer e.emits.Unlock()
	e.OnEvent(env)
}

// acquireLease takes the lease of the deployment's service. If the process that owns the lease has
// ended, acquireLease takes the lease over immediately, under that process's name.
func (e *Engine) acquireLease(ctx context.Context, d journal.Deployment) (*lease, error) {
	l := &lease{journal: e.Journal, resource: LeaseResource(d), owner: e.Owner}
	var err error
	l.fence, err = e.Journal.Acquire(ctx, l.resource, l.owner, leaseDuration)
	var held *journal.HeldError
	if errors.As(err, &held) && e.IsAlive != nil && !e.IsAlive(held.Owner) {
		l.owner = held.Owner
		l.fence, err = e.Journal.Acquire(ctx, l.resource, l.owner, leaseDuration)
	}
	if err != nil {
		return nil, err
	}
	l.renewed = e.Clock.Now()
	return l, nil
}

type lease struct {
	journal         *journal.Journal
	resource, owner string
	fence           int64
	renewed         time.Time
}

func (l *lease) renew(ctx context.Context, now time.Time) error {
	if now.Sub(l.renewed) < leaseDuration/4 {
		return l.journal.CheckLease(ctx, l.resource, l.owner, l.fence)
	}
	if err := l.journal.Renew(ctx, l.resource, l.owner, l.fence, leaseDuration); err != nil {
		return err
	}
	l.renewed = now
	return nil
}

func (l *lease) release(ctx context.Context) error {
	return l.journal.Release(context.WithoutCancel(ctx), l.resource, l.owner, l.fence)
}
