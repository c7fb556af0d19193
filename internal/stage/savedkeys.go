package stage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Keys under which stages save. The first five are PipeCD's, with their meaning there. KeyRevision
// holds the revision that the deployment registered.
const (
	KeyCanaryGroup       = "canary-target-group-arn"
	KeyPrimaryShare      = "primary-percentage"
	KeyCanaryShare       = "canary-percentage"
	KeyListeners         = "current-listeners"
	KeyCanarySet         = "canary-task-set"
	keySnapshot          = "former"
	KeyRevision          = "revision"
	keyRegistering       = "registering"
	keyFingerprints      = "rule-prints"
	keyShiftedAt         = "shifted-at"
	keyRestored          = "restored-generation"
	keyGeneration        = "canary-generation"
	keyUpdateRequest     = "asked"
	keyStopRequest       = "stopped"
	keyNewPrimary        = "new-primary" // progress of the new primary, see newPrimaryBegun
	keyCodeDeploy        = "codedeploy"
	keyCodeDeployReturn  = "codedeploy-return"
	keyKeptPrimary       = "kept-old"
	keyTakenOver         = "taken-over"
	keyPreviousClaim     = "left-by"
	keyClaimed           = "claimed"
	keyMaintainedShare   = "held-share"
	keyDeregistered      = "taken-out"
	keyStaysDeregistered = "stays-out" // ECS does not register deregistered instances again
	keyDeregisteredSince = "out-since" // the index of a stage that began with deregistered instances
	keyRegistered        = "put-in"
	keyUnmanaged         = "left-as-they-are"
	keyCanaryCount       = "canary-count"
	keyAdopted           = "accepted"
	keyDoneStages        = "done" // how many stages of the plan are done
	// KeyTakeOver holds the claim that the user let this deployment take over at a resume.
	KeyTakeOver        = "take-over"
	keyNotRestored     = "not-restored"
	keyScaling         = "scaling"
	keyScalingRollback = "scaling-back"
	keyTasks           = "tasks of "       // the stage's index follows
	keyOwnRevision     = "revision of "    // the stage's index follows
	keyOwnRegister     = "registering of " // the stage's index follows
)

// loadValue loads a value as JSON; ok is false if it was never saved.
func loadValue[T any](ctx context.Context, h Host, key string) (v T, ok bool, err error) {
	data, ok, err := h.Load(ctx, key)
	if err != nil {
		return v, false, fmt.Errorf("read the saved value %s: %w", key, err)
	}
	if !ok {
		return v, false, nil
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return v, false, fmt.Errorf("read the saved value %s: %w", key, err)
	}
	return v, true, nil
}

func saveValue(ctx context.Context, h Host, key string, v any) error {
	data, err := json.Marshal(v)
	if err == nil {
		err = h.Save(context.WithoutCancel(ctx), key, data)
	}
	return wrapSaveError(key, err)
}

// saveText saves a value as plain text, as PipeCD's metadata is.
func saveText(ctx context.Context, h Host, key, v string) error {
	return wrapSaveError(key, h.Save(context.WithoutCancel(ctx), key, []byte(v)))
}

// ErrNotSaved says that a value could not be saved. The write that needs it was not made, and the
// stage can be tried again once the Host saves.
var ErrNotSaved = errors.New("not saved")

func wrapSaveError(key string, err error) error {
	if err == nil {
		return nil
	}
	return &saveError{key: key, err: err}
}

// saveError is the failure to save the value of a key.
type saveError struct {
	key string
	err error
}

func (e *saveError) Error() string        { return "save " + e.key + " before the write: " + e.err.Error() }
func (e *saveError) Unwrap() error        { return e.err }
func (e *saveError) Is(target error) bool { return target == ErrNotSaved }
