package stage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
)

// Host is what a stage runs in: the engine's journal, or another system's memory of a deployment.
type Host interface {
	// Load returns what Save last saved under key.
	Load(ctx context.Context, key string) (value []byte, ok bool, err error)
	// Save returns only when the value survives a kill of every process.
	Save(ctx context.Context, key string, value []byte) error
	// Began is when the stage began for the first time.
	Began() time.Time
	// Emit reports an event. It does not fail: a host that cannot keep events fails the next Save.
	Emit(sluice.Event)
}

// Config has the inputs of a stage.
type Config struct {
	Account    *account.Account
	Clock      clock.Clock
	Plan       *plan.Plan
	Index      int // of the stage; len(Plan.Stages) is the rollback
	Deployment string
	Host       Host
	// Interrupt is called at every poll. Its error stops the stage at a safe point. Nil: there are
	// no interrupts.
	Interrupt func(context.Context) error
	// MayRemove reports whether a sync may remove a task set that a former tool created, as it
	// removes our own. Nil: there are none.
	MayRemove func(id string) bool
	// HandOver ends a stage as soon as all of it is requested, if ECS can finish it alone; see
	// [ErrHandedOver].
	HandOver bool
	// RetryFor is how long calls without a response from AWS are sent again; see [account.LongRetry].
	// Zero: [account.LongRetryBudget].
	RetryFor time.Duration
	// CheckRetry is called between two tries of a call without a response. Nil: Interrupt.
	CheckRetry func() error
	// Facts are what the stages of one run share; nil: the stage reads them itself.
	Facts *Facts
	// CannotResume says that the host cannot pause the deployment and run [Run.Finish] again.
	CannotResume bool
}

// Run is one stage that is executed: its clients, its clock and its step of the plan.
type Run struct {
	Config
	Stage plan.Stage

	task     *definition.Task
	service  *definition.Service
	client   ecs.Service
	code     modeCode
	reads    *pollReads
	hosting  variantHosting
	traffic  trafficProvider
	memory   *memory.Memory
	snapshot *memory.Snapshot
	claim    claim
	readAt   time.Time // when the service was read last
	// last write of this stage; at first the time of Open, because earlier processes wrote before it
	wroteAt          time.Time
	ownsClaim        bool // this stage has read its own claim
	watchesDrift     bool // every read of the service is checked for drift
	expected         *expectation
	comparedAt       time.Time // when rules and auto scaling were compared last
	canaryScaled     bool      // this stage scaled the canary
	canaryRetires    bool      // the canary must get no more requests in this stage
	isStep           bool      // the stage runs a task under the claim on the service
	emitted          emitted
	deletedResources []memory.DeletedResource // resources that the rollback cannot restore

	confirmed *ecs.ServiceState // the last read of the deployment, by [Run.Confirm]
	unclaimed bool              // the service is deleted, or its claim tag is: writes need no claim
}

// Open creates the clients of a stage. It makes no call to AWS.
func Open(c Config) (*Run, error) {
	task, err := c.Plan.DecodeTask()
	if err != nil {
		return nil, err
	}
	service, err := c.Plan.DecodeService()
	if err != nil {
		return nil, err
	}
	r := &Run{Config: c, wroteAt: c.Clock.Now(), Stage: c.Plan.Stage(c.Index), task: task, service: service,
		reads: &pollReads{}, memory: memory.Open(c.Host)}
	r.Facts = cmp.Or(c.Facts, &Facts{})
	r.client = ecs.Service{API: c.Account.ECS(), Cluster: c.Plan.Cluster, Name: c.Plan.Service,
		Confirm: r.awaitSecondRead}
	r.code = codeOf(r.Plan.Mode())
	r.hosting = r.code.hosting(r)
	r.traffic = r.openTraffic()
	return r, nil
}

// Execute runs the stage to its end. An error of [sluice.Kind] Halted means that the stage was
// interrupted and can be executed again. After any other error it can also be executed again, once
// the cause is known.
func (r *Run) Execute(ctx context.Context) error {
	run, err := r.stageFunc()
	if err != nil {
		return err
	}
	if err := r.runWithTimeout(ctx, run); err != nil {
		return err
	}
	return r.saveStageDone(r.withRetries(ctx))
}

// runWithTimeout ends the stage at its timeout, if it has one.
func (r *Run) runWithTimeout(ctx context.Context, run func(context.Context) error) error {
	limit := r.Stage.Timeout
	if limit <= 0 {
		return run(r.withRetries(ctx))
	}
	left := r.Host.Began().Add(limit).Sub(r.Clock.Now())
	timed, cancel := r.Clock.WithTimeout(ctx, left)
	defer cancel()
	err := run(r.withRetries(timed))
	if err != nil && timed.Err() != nil && ctx.Err() == nil {
		return &sluice.Error{Op: r.Stage.Name, Resource: r.client.Resource(), Kind: sluice.Stall,
			Err:  fmt.Errorf("the stage's timeout of %s passed: %w", limit, err),
			Next: "raise the stage's timeout, or run sluice status to see what the stage waited for"}
	}
	return err
}

func (r *Run) stageFunc() (func(context.Context) error, error) {
	switch r.Stage.Name {
	case plan.StageScaling:
		return r.scaleOnly, nil
	case appfile.StageSync:
		return func(ctx context.Context) error { return r.code.sync(r, ctx) }, nil
	case appfile.StageCanaryRollout:
		return r.canaryRollout, nil
	case appfile.StageTrafficRouting:
		return r.trafficRouting, nil
	case appfile.StagePrimaryRollout:
		return r.primaryRollout, nil
	case appfile.StageCanaryClean:
		return r.canaryClean, nil
	case appfile.StageRollback:
		return r.runRollback, nil
	case appfile.StageAdopt:
		return r.adoptLeftovers, nil
	case appfile.StageRunTask:
		return r.runTask, nil
	case appfile.StageRegister:
		return r.registerOnly, nil
	}
	return nil, fmt.Errorf("stage %s has nothing to run", r.Stage.Name)
}

// withRetries makes the calls of the stage try again if AWS gives no response. The calls end with
// ctx, even those that ctx itself does not cancel.
func (r *Run) withRetries(ctx context.Context) context.Context {
	ask := r.CheckRetry
	if ask == nil {
		ask = func() error { return r.checkInterrupt(ctx) }
	}
	return account.WithLongRetry(ctx, &account.LongRetry{Budget: cmp.Or(r.RetryFor, account.LongRetryBudget),
		Check:  ask,
		Report: func(e sluice.Unanswered) { r.Host.Emit(e) }})
}

// checkInterrupt is called before each read of AWS. It returns an error if the stage must not
// continue.
func (r *Run) checkInterrupt(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return errHalted(r, err)
	}
	if r.Interrupt == nil {
		return nil
	}
	return r.Interrupt(ctx)
}

// pauseFor sleeps until the next poll.
func (r *Run) pauseFor(ctx context.Context, d time.Duration) error {
	defer r.reads.endPoll()
	if err := r.Clock.Sleep(ctx, d); err != nil {
		return errHalted(r, err)
	}
	return nil
}

// readLag is how long AWS's answers may lag behind a write.
const readLag = ecs.ReadLag

// awaitReadLag reads the service, and waits until the next read must show its current state. Our
// last write may be recent, or may be that of a killed process. The method comes before reads that
// decide that no work remains.
func (r *Run) awaitReadLag(ctx context.Context) error {
	if _, err := r.observeService(ctx); err != nil {
		return err
	}
	return r.pauseFor(ctx, readLag)
}

// awaitSecondRead waits between two reads that must both show that a resource does not exist.
func (r *Run) awaitSecondRead(ctx context.Context) error { return r.pauseFor(ctx, readLag) }

func errHalted(r *Run, err error) error {
	if sluice.KindOf(err) != "" {
		return err
	}
	return &sluice.Error{Op: r.Stage.Name, Resource: r.client.Resource(), Kind: sluice.Halted, Err: err}
}

// makeWrite makes one write. The write must be in the plan (P7), our claim must have been read
// recently, and events are emitted before and after it. An interrupt does not cut off a write that
// has begun.
func (r *Run) makeWrite(ctx context.Context, a sluice.Attempt, call func(context.Context) (string, error)) error {
	if !r.Stage.MayWrite(a.Planned) {
		return &sluice.Error{Op: a.Action, Resource: a.Actual.Resource,
			Err: fmt.Errorf("%s is not among the writes of stage %s: %w", a.Planned, r.Stage.Name,
				account.ErrNotPlanned)}
	}
	if err := r.checkInterrupt(ctx); err != nil {
		return err
	}
	if err := r.ensureFreshClaim(account.BeforeWrite(ctx), a); err != nil {
		return err
	}
	defer r.reads.endPoll() // no read from before the write is served after it
	id := r.actionID(a.Action)
	r.Host.Emit(sluice.Writing{Action: id, Write: a.Actual})
	permitted := account.Permit(context.WithoutCancel(ctx), account.Action{ID: id, Writes: []sluice.Write{a.Actual},
		CheckClaim: r.checkClaim(ctx, a)})
	result, err := r.writeUnderClaim(ctx, a, func() (string, error) { return call(permitted) })
	r.wroteAt = r.Clock.Now()
	wrote := sluice.Wrote{Action: id, Write: a.Actual, Result: result}
	if err != nil {
		err = sluice.Inner(err)
		wrote.Cause = err.Error()
		err = fmt.Errorf("%s: %w", a.Action, err)
	}
	r.Host.Emit(wrote)
	return err
}

func (r *Run) actionID(name string) sluice.ActionID {
	return sluice.NewActionID(r.Deployment, fmt.Sprintf("%d %s", r.Stage.Index, r.Stage.Name), name)
}

func (r *Run) emitNote(format string, args ...any) {
	r.Host.Emit(sluice.Noted{Message: fmt.Sprintf(format, args...)})
}

func (r *Run) emitWarning(format string, args ...any) {
	r.Host.Emit(sluice.Warned{Message: fmt.Sprintf(format, args...)})
}

// observeService reads the service. A deleted service is an error here.
func (r *Run) observeService(ctx context.Context) (*ecs.ServiceState, error) {
	of := r.reads.beginRead(r.Clock.Now())
	live, err := r.observeUnheld(ctx)
	if err == nil {
		r.reads.hold(serviceKey, of, live)
	}
	return live, err
}

// observeUnheld is observeService without a copy for other readers of the poll.
func (r *Run) observeUnheld(ctx context.Context) (*ecs.ServiceState, error) {
	if err := r.checkInterrupt(ctx); err != nil {
		return nil, err
	}
	live, err := r.client.Observe(ctx)
	if err != nil {
		return nil, err
	}
	r.readAt = r.Clock.Now()
	return r.checkRead(ctx, live)
}

// checkRead checks a read: the service exists, the claim is ours and no other actor changed it.
func (r *Run) checkRead(ctx context.Context, live *ecs.ServiceState) (*ecs.ServiceState, error) {
	if live == nil || live.Status != "ACTIVE" {
		return nil, r.errServiceDeleted()
	}
	if r.claim.readTags(live.Tags, r.Deployment, r.Clock.Now()); r.ownsClaim && r.claim.otherValue != "" {
		return nil, r.errClaimLost()
	}
	if err := r.renewClaimInTime(ctx, live); err != nil {
		return nil, err
	}
	return r.resolveDrift(ctx, live)
}

func (r *Run) errServiceDeleted() error {
	return &sluice.Error{Op: "check the service", Resource: r.client.Resource(), Kind: sluice.NotFound,
		Err:  errors.New("another process or person deleted the service during the deployment"),
		Next: "deploy again to create the service"}
}
