package step

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
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
	// Save returns only when the value survives a kill of every process. Its error names the key.
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
	// ErrHandedOver of package stage.
	HandOver bool
	// HandOverAt is where a stage ends as with HandOver, but not before: a lifecycle event of CodeDeploy that has
	// succeeded, or what [watch.Update.HasReached] names. Empty: it ends nowhere.
	HandOverAt string
	// RetryFor is how long calls without a response from AWS are sent again; see [account.LongRetry].
	// Zero: [account.LongRetryBudget].
	RetryFor time.Duration
	// CheckRetry is called between two tries of a call without a response. Nil: Interrupt.
	CheckRetry func() error
	// Facts are what the stages of one run share; nil: the stage reads them itself.
	Facts *Facts
	// Ask shows a question to people, and reports whether one has answered yes. It does not wait. Nil: the host cannot
	// ask.
	Ask func(question string) (yes bool)
	// OutsideAWS is what gates use besides AWS; nil: nothing.
	OutsideAWS *OutsideAWS
	// IsContinued says that the process of the last stage has ended. What it read may be long ago.
	IsContinued   bool
	HasRolledBack bool // the rollback has begun: [Run.Finish] ends what it left
	// CannotResume says that the host cannot pause the deployment and run [Run.Finish] again.
	CannotResume bool
}

// Step is one stage that is executed: its clients, its clock and its step of the plan.
type Step struct {
	Config
	Stage plan.Stage

	Task     *definition.Task
	Service  *definition.Service
	Client   ecs.Service
	Reads    *PollReads
	Hosting  Hosting
	Access   Access
	Outside  outsideWatch
	Gates    gateWatch
	Serving  servingWatch
	Memory   *memory.Memory
	Snapshot *memory.Snapshot
	Claim    Claim
	ReadAt   time.Time // when the service was read last
	// last write of this stage; at first the time of Open, because earlier processes wrote before it
	WroteAt          time.Time
	lagEndedAt       time.Time // when AwaitReadLag ended last
	OwnsClaim        bool      // this stage has read its own claim
	claimRestores    int       // how often this stage wrote its removed claim again
	WatchesDrift     bool      // every read of the service is checked for drift
	Expected         *Expectation
	ComparedAt       time.Time // when rules and auto scaling were compared last
	CanaryScaled     bool      // this stage scaled the canary
	CanaryRetires    bool      // the canary must get no more requests in this stage
	IsStep           bool      // the stage runs a task under the claim on the service
	Emitted          emitted
	DeletedResources []memory.DeletedResource // resources that the rollback cannot restore

	Confirmed *ecs.ServiceState // the last read of the deployment, by Run.Confirm of package stage
	Unclaimed bool              // the service is deleted, or its claim tag is: writes need no claim
}

// IsRollback reports whether the stage is the rollback. Its index is after the other stages.
func (s *Step) IsRollback() bool { return s.Stage.Index >= len(s.Plan.Stages) }

// WithRetries makes the calls of the stage try again if AWS gives no response. The calls end with
// ctx, even those that ctx itself does not cancel.
func (s *Step) WithRetries(ctx context.Context) context.Context {
	ask := s.CheckRetry
	if ask == nil {
		ask = func() error { return s.CheckInterrupt(ctx) }
	}
	return account.WithLongRetry(ctx, &account.LongRetry{Budget: cmp.Or(s.RetryFor, account.LongRetryBudget),
		Check:  ask,
		Report: func(e sluice.Unanswered) { s.Host.Emit(e) }})
}

// CheckInterrupt is called before each read of AWS. It returns an error if the stage must not
// continue.
func (s *Step) CheckInterrupt(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return ErrHalted(s, err)
	}
	if s.Interrupt == nil {
		return nil
	}
	return s.Interrupt(ctx)
}

// PauseFor sleeps until the next poll.
func (s *Step) PauseFor(ctx context.Context, d time.Duration) error {
	defer s.Reads.EndPoll()
	if err := s.Clock.Sleep(ctx, d); err != nil {
		return ErrHalted(s, err)
	}
	return nil
}

// ReadLag is how long AWS's answers may lag behind a write.
const ReadLag = ecs.ReadLag

// AwaitReadLag reads the service, and waits until the next read must show its current state. Our
// last write may be recent, or may be that of a killed process. The method comes before reads that
// decide that no work remains.
func (s *Step) AwaitReadLag(ctx context.Context) error {
	if _, err := ObserveShared(ctx, s); err != nil {
		return err
	}
	if err := s.PauseFor(ctx, ReadLag); err != nil {
		return err
	}
	s.lagEndedAt = s.Clock.Now()
	return nil
}

// HasAwaitedReadLag reports whether AwaitReadLag has just ended, and nothing was written since.
func (s *Step) HasAwaitedReadLag() bool {
	return s.lagEndedAt.After(s.WroteAt) && s.Clock.Now().Sub(s.lagEndedAt) <= shareLimit
}

// AwaitSecondRead waits between two reads that must both show that a resource does not exist.
func (s *Step) AwaitSecondRead(ctx context.Context) error { return s.PauseFor(ctx, ReadLag) }

// ErrHalted is the error of a stage that was interrupted. An error that has a kind keeps it.
func ErrHalted(s *Step, err error) error {
	if sluice.KindOf(err) != "" {
		return err
	}
	return &sluice.Error{Op: s.Stage.Name, Resource: s.Client.Resource(), Kind: sluice.Halted, Err: err}
}

// MakeWrite makes one write. The write must be in the plan (P7), our claim must have been read
// recently, and events are emitted before and after it. An interrupt does not cut off a write that
// has begun.
func (s *Step) MakeWrite(ctx context.Context, a sluice.Attempt, call func(context.Context) (string, error)) error {
	if !s.Stage.MayWrite(a.Planned) {
		return &sluice.Error{Op: cmp.Or(a.Name, a.Action), Resource: a.Actual.Resource,
			Err: fmt.Errorf("%s is not among the writes of stage %s: %w", a.Planned, s.Stage.Name,
				account.ErrNotPlanned),
			Next: "see what has changed in AWS since the plan was made, then deploy again"}
	}
	if err := s.CheckInterrupt(ctx); err != nil {
		return err
	}
	if err := ensureFreshClaim(account.BeforeWrite(ctx), s, a); err != nil {
		return err
	}
	defer s.Reads.EndPollAfter(a.Actual) // no read from before the write is served after it
	id := s.ActionID(a.Action)
	s.Host.Emit(sluice.Writing{Action: id, Write: a.Actual})
	permitted := account.Permit(context.WithoutCancel(ctx), account.Action{ID: id, Writes: []sluice.Write{a.Actual},
		CheckClaim: checkClaim(ctx, s, a)})
	result, err := writeUnderClaim(ctx, s, a, func() (string, error) { return call(permitted) })
	s.WroteAt = s.Clock.Now()
	wrote := sluice.Wrote{Action: id, Write: a.Actual, Result: result}
	if err != nil {
		err = sluice.Inner(err)
		wrote.Cause = err.Error()
		err = fmt.Errorf("%s: %w", cmp.Or(a.Name, a.Action), err)
	}
	s.Host.Emit(wrote)
	return err
}

// ActionID returns the ID of an action of this stage: the same one each time that the stage runs.
func (s *Step) ActionID(name string) sluice.ActionID {
	return sluice.NewActionID(s.Deployment, fmt.Sprintf("%d %s", s.Stage.Index, s.Stage.Name), name)
}

// EmitNote emits a note for users.
func (s *Step) EmitNote(format string, args ...any) {
	s.Host.Emit(sluice.Noted{Message: fmt.Sprintf(format, args...)})
}

// EmitWarning emits a warning for users.
func (s *Step) EmitWarning(format string, args ...any) {
	s.Host.Emit(sluice.Warned{Message: fmt.Sprintf(format, args...)})
}

// ObserveService reads the service. A deleted service is an error here.
func (s *Step) ObserveService(ctx context.Context) (*ecs.ServiceState, error) {
	of := s.Reads.BeginRead(s.Clock.Now())
	live, err := observeUnheld(ctx, s)
	if err == nil {
		s.Reads.Hold(ServiceKey, of, live)
	}
	return live, err
}

// observeUnheld is ObserveService without a copy for other readers of the poll.
func observeUnheld(ctx context.Context, s *Step) (*ecs.ServiceState, error) {
	if err := s.CheckInterrupt(ctx); err != nil {
		return nil, err
	}
	live, err := s.Client.Observe(ctx)
	if err != nil {
		return nil, err
	}
	s.ReadAt = s.Clock.Now()
	return CheckRead(ctx, s, live)
}

// CheckRead checks a read: the service exists, the claim is ours and no other actor changed it.
func CheckRead(ctx context.Context, s *Step, live *ecs.ServiceState) (*ecs.ServiceState, error) {
	if live == nil || live.Status != "ACTIVE" {
		return nil, ErrServiceDeleted(s)
	}
	if s.Claim.ReadTags(live.Tags, s.Deployment, s.Clock.Now()); s.OwnsClaim && s.Claim.OtherValue != "" {
		return nil, errClaimLost(s)
	}
	if err := renewClaimInTime(ctx, s, live); err != nil {
		return nil, err
	}
	return s.Outside.Resolve(ctx, s, live)
}

// RaiseCount is what to do about a service whose desired count others set to 0.
func RaiseCount(tasks int) string {
	return fmt.Sprintf("raise the desired count: sluice scale --tasks %d", tasks)
}

// ErrServiceDeleted is the error of a service that another actor deleted.
func ErrServiceDeleted(s *Step) error {
	return &sluice.Error{Op: "check the service", Resource: s.Client.Resource(), Kind: sluice.NotFound,
		Err:  errors.New("another process or person deleted the service during the deployment"),
		Next: "deploy again to create the service"}
}
