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

// ErrNotPlanned is in the error tree of a write that no [Action] in its context lists. The write
// was not sent.
var ErrNotPlanned = errors.New("not in the plan")

// Action lists the writes that are allowed.
type Action struct {
	ID     sluice.ActionID
	Writes []sluice.Write // with concrete resources, as [ResourceOf] names them

	// CheckClaim returns nil if this deployment's claim on the service was read recently enough. It
	// is called just before each attempt of a write; on an error the write is not sent. Nil: these
	// writes need no claim.
	CheckClaim func(now time.Time) error
}

type actionKey struct{}

// Permit allows calls under the returned context to make a's writes and no others. It replaces an
// Action in ctx; it does not extend it.
func Permit(ctx context.Context, a Action) context.Context {
	a.Writes = slices.Clone(a.Writes)
	return context.WithValue(ctx, actionKey{}, a)
}

func actionOf(ctx context.Context) Action {
	a, _ := ctx.Value(actionKey{}).(Action)
	return a
}

// readPrefixes are the first words of operations that change nothing.
var readPrefixes = []string{"Describe", "List", "Get", "Discover", "BatchGet", "Lookup", "Check", "Filter", "Simulate"}

// identityOperations return credentials or the caller's identity. They change nothing that a plan
// could list.
var identityOperations = []string{
	"sts:AssumeRole", "sts:AssumeRoleWithWebIdentity", "sts:AssumeRoleWithSAML", "sts:DecodeAuthorizationMessage",
}

// IsWrite reports whether an operation ("ecs:CreateTaskSet", or its bare name) may change
// something. An unknown operation counts as a write.
func IsWrite(operation string) bool {
	if slices.Contains(identityOperations, operation) {
		return false
	}
	name := operation[strings.LastIndexByte(operation, ':')+1:]
	return !slices.ContainsFunc(readPrefixes, func(word string) bool { return startsWithWord(name, word) })
}

// startsWithWord requires the whole word: "Checkout" does not start with "Check".
func startsWithWord(name, word string) bool {
	rest, ok := strings.CutPrefix(name, word)
	return ok && (rest == "" || rest[0] < 'a' || rest[0] > 'z')
}

// checkPermitted returns nil if the request is a read or its action lists it.
func (r request) checkPermitted() error {
	if !r.write {
		return nil
	}
	var why error
	switch {
	case !r.hasRow:
		why = fmt.Errorf("%w: sluice does not know what this operation changes", ErrNotPlanned)
	case r.action.ID == "" && len(r.action.Writes) == 0:
		why = fmt.Errorf("%w: no action is running", ErrNotPlanned)
	case slices.Contains(r.action.Writes, sluice.Write{Operation: r.operation, Resource: r.resource}):
		return nil
	default:
		why = fmt.Errorf("%w: action %s does not list this write", ErrNotPlanned, r.action.ID)
	}
	return &sluice.Error{Op: r.operation, Resource: r.resource, Err: why,
		Next: "report this defect of sluice; the request was not sent"}
}

// checkClaim returns nil if the request needs no claim or the claim was read recently.
func (r request) checkClaim(now time.Time) error {
	if !r.write || r.action.CheckClaim == nil {
		return nil
	}
	err := r.action.CheckClaim(now)
	if err == nil {
		return nil
	}
	kind := sluice.KindOf(err)
	if kind == "" {
		kind = sluice.LostClaim
	}
	return &sluice.Error{Op: r.operation, Resource: r.resource, Kind: kind, Err: err, Next: sluice.NextStep(err)}
}
