package stage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Keys under which stages save. The first five are PipeCD's, with its meaning.
// Under KeyRevision is the revision that the deployment registered.
const (
	KeyCanaryGroup  = "canary-target-group-arn"
	KeyPrimaryShare = "primary-percentage"
	KeyCanaryShare  = "canary-percentage"
	KeyListeners    = "current-listeners"
	KeyCanarySet    = "canary-task-set"
	keyFormer       = "former"
	KeyRevision     = "revision"
	keyRegister     = "registering"
	keyPrints       = "rule-prints"
	keyShifted      = "shifted-at"
	keyRestored     = "restored-generation"
	keyGeneration   = "canary-generation"
	keyAsked        = "asked"
	keyStopped      = "stopped"
	keyFresh        = "new-primary" // that its task set is about to be made, then that it is about to be PRIMARY
	keyShift        = "codedeploy"
	keyReturn       = "codedeploy-return"
	keyKeptOld      = "kept-old"
	keySeized       = "taken-over"
	keyLeft         = "left-by"
	keyHeld         = "claimed"
	keyShareHeld    = "held-share"
	keyTaken        = "taken-out"
	keyStaysOut     = "stays-out" // what was taken out was not put back by ECS
	keyOutSince     = "out-since" // the index of a stage that began with what is taken out
	keyIn           = "put-in"
	keyTheirs       = "left-as-they-are"
	keyCanaryCount  = "canary-count"
	keyAccepted     = "accepted"
	keyDone         = "done" // how many of the plan's stages
	// KeyTakeOver is whose claim a person let this deployment take over when it was
	// resumed.
	KeyTakeOver    = "take-over"
	keyRest        = "not-restored"
	keyScaling     = "scaling"
	keyScalingBack = "scaling-back"
	keyTasks       = "tasks of "       // and the stage's index
	keyOwnRevision = "revision of "    // likewise
	keyOwnRegister = "registering of " // likewise
)

// saved loads a value as JSON; ok is false if it was never saved.
func saved[T any](ctx context.Context, h Host, key string) (v T, ok bool, err error) {
	data, ok, err := h.Load(ctx, key)
	if err != nil {
		return v, false, fmt.Errorf("read what was saved as %s: %w", key, err)
	}
	if !ok {
		return v, false, nil
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return v, false, fmt.Errorf("read what was saved as %s: %w", key, err)
	}
	return v, true, nil
}

func save(ctx context.Context, h Host, key string, v any) error {
	data, err := json.Marshal(v)
	if err == nil {
		err = h.Save(context.WithoutCancel(ctx), key, data)
	}
	return notSaved(key, err)
}

// text saves a value as plain text, as PipeCD's metadata are.
func text(ctx context.Context, h Host, key, v string) error {
	return notSaved(key, h.Save(context.WithoutCancel(ctx), key, []byte(v)))
}

// ErrNotSaved says that what had to be remembered could not be: nothing was
// written, and the same can be tried again once the Host saves.
var ErrNotSaved = errors.New("not saved")

func notSaved(key string, err error) error {
	if err == nil {
		return nil
	}
	return &unsaved{key: key, err: err}
}

// unsaved is the failure to save the value of a key.
type unsaved struct {
	key string
	err error
}

func (e *unsaved) Error() string        { return "save " + e.key + " before the write: " + e.err.Error() }
func (e *unsaved) Unwrap() error        { return e.err }
func (e *unsaved) Is(target error) bool { return target == ErrNotSaved }
