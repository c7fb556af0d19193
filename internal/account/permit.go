package account

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
)

// ErrNotPlanned is in the tree of the error of a write that no [Action] in its
// context lists. Nothing was sent.
var ErrNotPlanned = errors.New("not in the plan")

// Action is the leave to make certain writes.
type Action struct {
	ID     sluice.ActionID
	Writes []sluice.Write // with concrete resources, as [ResourceOf] names them

	// Held tells whether our claim on the service was seen recently enough. It is
	// asked just before each attempt of a write; its error stops the write
	// unsent. Nil: these writes need no claim.
	Held func(now time.Time) error
}

type actionKey struct{}

// Permit lets calls under the returned context make a's writes and no others: an
// Action in ctx is replaced, not widened.
func Permit(ctx context.Context, a Action) context.Context {
	a.Writes = slices.Clone(a.Writes)
	return context.WithValue(ctx, actionKey{}, a)
}

func actionOf(ctx context.Context) Action {
	a, _ := ctx.Value(actionKey{}).(Action)
	return a
}

// reading are the first words of operations that change nothing.
var reading = []string{"Describe", "List", "Get", "Discover", "BatchGet", "Lookup", "Check", "Filter", "Simulate"}

// identity are operations that hand out credentials or tell who we are; they
// change nothing that a plan could list.
var identity = []string{
	"sts:AssumeRole", "sts:AssumeRoleWithWebIdentity", "sts:AssumeRoleWithSAML", "sts:DecodeAuthorizationMessage",
}

// IsWrite reports whether an operation ("ecs:CreateTaskSet", or its bare name)
// may change something. What it does not know is a write.
func IsWrite(operation string) bool {
	if slices.Contains(identity, operation) {
		return false
	}
	name := operation[strings.LastIndexByte(operation, ':')+1:]
	return !slices.ContainsFunc(reading, func(word string) bool { return startsWith(name, word) })
}

// startsWith wants the whole word: "Checkout" does not start with "Check".
func startsWith(name, word string) bool {
	rest, ok := strings.CutPrefix(name, word)
	return ok && (rest == "" || rest[0] < 'a' || rest[0] > 'z')
}

// permitted is nil if the request is a read or its action lists it.
func (r request) permitted() error {
	if !r.write {
		return nil
	}
	var why error
	switch {
	case !r.known:
		why = fmt.Errorf("%w: sluice does not know what this operation changes", ErrNotPlanned)
	case r.action.ID == "" && len(r.action.Writes) == 0:
		why = fmt.Errorf("%w: no action is under way", ErrNotPlanned)
	case slices.Contains(r.action.Writes, sluice.Write{Operation: r.operation, Resource: r.resource}):
		return nil
	default:
		why = fmt.Errorf("%w: action %s does not list it", ErrNotPlanned, r.action.ID)
	}
	return &sluice.Error{Op: r.operation, Resource: r.resource, Err: why, Next: "nothing was sent; this is a defect of sluice, please report it"}
}

// held is nil if the request needs no claim or the claim was seen recently.
func (r request) held(now time.Time) error {
	if !r.write || r.action.Held == nil {
		return nil
	}
	err := r.action.Held(now)
	if err == nil {
		return nil
	}
	kind := sluice.KindOf(err)
	if kind == "" {
		kind = sluice.LostClaim
	}
	return &sluice.Error{Op: r.operation, Resource: r.resource, Kind: kind, Err: err, Next: sluice.NextStep(err)}
}
