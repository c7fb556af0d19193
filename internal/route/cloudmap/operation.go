package cloudmap

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"
	sdtypes "github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"

	"github.com/sluice-ecs/sluice"
)

// begun is an operation of Cloud Map's that we wait for.
type begun struct {
	index int    // of the instance
	id    string // of the operation; empty: there was nothing to do
}

// each makes one write per instance, all of them before the first is waited for:
// an operation takes seconds.
func (n Names) each(ctx context.Context, act sluice.Act, operation, label string, ids []string, call func(context.Context, int) (*string, error)) error {
	left := make([]int, len(ids))
	for i := range ids {
		left[i] = i
	}
	for try := 1; len(left) > 0; try++ {
		var all []begun
		for _, i := range left {
			id, err := n.begin(ctx, act, operation, label, ids[i], func(ctx context.Context) (*string, error) { return call(ctx, i) })
			if err != nil {
				n.settle(ctx, all)
				return err
			}
			all = append(all, begun{i, id})
		}
		failed, err := n.end(ctx, all, ids)
		if ctx.Err() != nil {
			n.settle(ctx, all)
		}
		if err != nil && (try >= n.Tries || len(failed) == 0) {
			return err
		}
		left = failed
	}
	return nil
}

// settle lets operations end though we stop: what comes next may look at once, and
// must not see what is about to change.
func (n Names) settle(ctx context.Context, all []begun) {
	ctx = context.WithoutCancel(ctx)
	for _, b := range all {
		if b.id == "" {
			continue
		}
		if _, err := n.await(ctx, b.id); err != nil {
			return
		}
	}
}

// busyLooks is how often an instance that another operation works on is tried.
const busyLooks = 15

// begin makes one write. Where the same operation is under way already (our first
// request was carried out and its reply was lost), that one is waited for; where
// another one works on the instance, it is let end first.
func (n Names) begin(ctx context.Context, act sluice.Act, operation, label, id string, call func(context.Context) (*string, error)) (op string, err error) {
	planned := sluice.Write{Operation: "servicediscovery:" + operation, Resource: label}
	actual := sluice.Write{Operation: planned.Operation, Resource: n.Registry.ID + "/" + id}
	for try := 1; ; try++ {
		busy := false
		err = act(ctx, sluice.Attempt{Action: verbs[operation] + " " + id, Planned: planned, Actual: actual}, func(ctx context.Context) (string, error) {
			got, err := call(ctx)
			var same *sdtypes.DuplicateRequest
			var inUse *sdtypes.ResourceInUse
			switch {
			case errors.As(err, &same) && aws.ToString(same.DuplicateOperationId) != "":
				op = *same.DuplicateOperationId
				return "under way already: " + op, nil
			case errors.As(err, &same), errors.As(err, &inUse):
				busy = true
			case errors.Is(err, sluice.ErrUnanswered):
				busy = true // twice is the same as once: look again by asking again
			}
			op = aws.ToString(got)
			return op, err
		})
		if !busy || try == busyLooks {
			return op, err
		}
		if err := n.Pause(ctx, 2*time.Second); err != nil {
			return "", err
		}
	}
}

// verbs are how actions on instances are called.
var verbs = map[string]string{"RegisterInstance": "register", "DeregisterInstance": "deregister"}

// end waits for operations and returns the indices of those that failed, with the
// first cause.
func (n Names) end(ctx context.Context, all []begun, ids []string) (failed []int, err error) {
	for _, b := range all {
		if b.id == "" {
			continue
		}
		why, looking := n.await(ctx, b.id)
		if looking != nil {
			return nil, looking
		}
		if why == "" {
			continue
		}
		failed = append(failed, b.index)
		if err == nil {
			err = &sluice.Error{Op: "wait for Cloud Map's operation " + b.id, Resource: n.Registry.ID + "/" + ids[b.index], Err: errors.New(why),
				Next: "see the operation: aws servicediscovery get-operation --operation-id " + b.id + "; then deploy again"}
		}
	}
	return failed, err
}

// operationLimit is how long an operation may take. AWS names no time; seconds
// are observed.
const operationLimit = 5 * time.Minute

// await looks at an operation until it has ended; why is not empty if it failed.
func (n Names) await(ctx context.Context, id string) (why string, err error) {
	for waited := time.Duration(0); ; waited += apart {
		out, err := n.API.GetOperation(ctx, &awssd.GetOperationInput{OperationId: aws.String(id)})
		if err != nil {
			return "", fmt.Errorf("look at operation %s: %w", id, sluice.Inner(err))
		}
		switch o := out.Operation; o.Status {
		case sdtypes.OperationStatusSuccess:
			return "", nil
		case sdtypes.OperationStatusFail:
			return fmt.Sprintf("it failed: %s: %s", aws.ToString(o.ErrorCode), aws.ToString(o.ErrorMessage)), nil
		}
		if waited >= operationLimit {
			return "", &sluice.Error{Op: "wait for Cloud Map's operation " + id, Resource: n.Registry.FullName(), Kind: sluice.Stall,
				Err: fmt.Errorf("it did not end within %s", operationLimit), Next: "aws servicediscovery get-operation --operation-id " + id}
		}
		if err := n.Pause(ctx, apart); err != nil {
			return "", err
		}
	}
}
