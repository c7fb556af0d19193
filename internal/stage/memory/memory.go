package memory

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
)

// Store keeps the rows of one deployment.
type Store interface {
	// Load returns what Save last saved under key.
	Load(ctx context.Context, key string) (value []byte, ok bool, err error)
	// Save returns only when the value survives a kill of every process. Its error names the key.
	Save(ctx context.Context, key string, value []byte) error
}

// Memory is what a deployment has saved. It loads each row at most once, and after a save it has
// the saved value. Open one for each stage that runs: other stages save too.
//
// A Memory may be used by several goroutines. Changes of one concern must come from one of them.
type Memory struct {
	Snapshot     Concern[Snapshot]
	Progress     Concern[Progress]
	Registration Concern[Registration] // of the deployment's task definition
	Claim        Concern[Claim]
	Canary       Concern[Canary]
	Primary      Concern[Primary]
	Routes       Concern[Routes]
	Names        Concern[Names]
	Rolling      Concern[Rolling]
	CodeDeploy   Concern[CodeDeploy]
	Scaling      Concern[Scaling]
	External     Concern[External]
	Rollback     Concern[Rollback]

	CanaryGroup  Text // ARN of the canary's target group
	PrimaryShare Text // percent
	CanaryShare  Text // percent
	Listeners    Text // ARNs, joined by commas
	CanarySet    Text // action ID of the canary that is about to be created
	TakeOver     Text // claim that the user let this deployment take over at a resume

	store Store

	mu      sync.Mutex // not locked during a call of store
	rows    map[string]row
	earlier answer // whether an earlier version of sluice saved rows of this deployment
}

// row is one row of the store. It is not found if it was never saved.
type row struct {
	data  []byte
	found bool
}

// answer is a yes or no that may be unknown yet.
type answer int

const (
	unknown answer = iota
	yes
	no
)

// Keys of PipeCD. Other tools read them, as plain text.
const (
	KeyCanaryGroup  = "canary-target-group-arn"
	KeyPrimaryShare = "primary-percentage"
	KeyCanaryShare  = "canary-percentage"
	KeyListeners    = "current-listeners"
	KeyCanarySet    = "canary-task-set"
)

// Open opens the memory of a deployment. It loads nothing.
func Open(store Store) *Memory {
	m := &Memory{store: store, rows: map[string]row{}}
	m.Snapshot = Concern[Snapshot]{m, "snapshot", 1, earlierSnapshot}
	m.Progress = Concern[Progress]{m, "progress", 1, earlierProgress}
	m.Registration = Concern[Registration]{m, "registration", 1, earlierRegistration("revision", "registering")}
	m.Claim = Concern[Claim]{m, "claim", 1, earlierClaim}
	m.Canary = Concern[Canary]{m, "canary", 1, earlierCanary}
	m.Primary = Concern[Primary]{m, "primary", 1, earlierPrimary}
	m.Routes = Concern[Routes]{m, "routes", 1, earlierRoutes}
	m.Names = Concern[Names]{m, "names", 1, earlierNames}
	m.Rolling = Concern[Rolling]{m, "rolling", 1, earlierRolling}
	m.CodeDeploy = Concern[CodeDeploy]{m, "code-deploy", 1, earlierCodeDeploy}
	m.Scaling = Concern[Scaling]{m, "auto-scaling", 1, earlierScaling}
	m.External = Concern[External]{m, "external", 1, earlierExternal}
	m.Rollback = Concern[Rollback]{m, "rollback", 1, earlierRollback}
	m.CanaryGroup, m.PrimaryShare, m.CanaryShare = Text{m, KeyCanaryGroup}, Text{m, KeyPrimaryShare},
		Text{m, KeyCanaryShare}
	m.Listeners, m.CanarySet = Text{m, KeyListeners}, Text{m, KeyCanarySet}
	m.TakeOver = Text{m, "take-over"}
	return m
}

// Launch is what is known of the tasks that a stage starts.
func (m *Memory) Launch(stage int) Concern[Launch] {
	index := strconv.Itoa(stage)
	return Concern[Launch]{m, "launch of " + index, 1, earlierLaunch("tasks of " + index)}
}

// StepRegistration is the registration of the task definition that only this stage runs.
func (m *Memory) StepRegistration(stage int) Concern[Registration] {
	index := strconv.Itoa(stage)
	return Concern[Registration]{m, "registration of " + index, 1,
		earlierRegistration("revision of "+index, "registering of "+index)}
}

// Forget makes later reads load again what another process or another stage may have saved.
func (m *Memory) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.rows)
}

// loadRow returns a row. It asks the store only for a row that is not known yet.
func (m *Memory) loadRow(ctx context.Context, key string) (row, error) {
	m.mu.Lock()
	r, known := m.rows[key]
	m.mu.Unlock()
	if known {
		return r, nil
	}
	data, ok, err := m.store.Load(ctx, key)
	if err != nil {
		return row{}, fmt.Errorf("read the saved value %s: %w", key, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, known := m.rows[key]; known { // saved since
		return r, nil
	}
	m.rows[key] = row{data, ok}
	return row{data, ok}, nil
}

// keepRow keeps the value that was saved.
func (m *Memory) keepRow(key string, data []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows[key] = row{data, true}
}

// keepEarlier keeps a value that was made from earlier rows, unless the row was saved since.
func (m *Memory) keepEarlier(key string, data []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.rows[key].found {
		m.rows[key] = row{data, true}
	}
}

// saveRow saves a row. If that fails, the known value stays as it was. A save that has begun is not
// cut off by ctx.
func (m *Memory) saveRow(ctx context.Context, key string, data []byte) error {
	if err := m.store.Save(context.WithoutCancel(ctx), key, data); err != nil {
		return &saveError{err}
	}
	m.keepRow(key, data)
	return nil
}

// ErrNotSaved says that a value could not be saved. The write that needs it was not made, and the
// stage can be tried again once the host saves.
var ErrNotSaved = errors.New("not saved")

// saveError is the failure to save a value. err names its key.
type saveError struct{ err error }

func (e *saveError) Error() string        { return "the write is not made: " + e.err.Error() }
func (e *saveError) Unwrap() error        { return e.err }
func (e *saveError) Is(target error) bool { return target == ErrNotSaved }
