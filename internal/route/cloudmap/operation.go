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

// startedOperation is an operation of Cloud Map that the client waits for.
type startedOperation struct {
	index int    // of the instance
	id    string // of the operation; empty: there was nothing to do
}

// runEach makes one write per instance. It starts all operations before it waits for the first,
// because an operation takes seconds.
func (n InstanceClient) runEach(ctx context.Context, act sluice.Act, operation, label string, ids []string,
	call func(context.Context, int) (*string, error)) error {
	left := make([]int, len(ids))
	for i := range ids {
		left[i] = i
	}
	for try := 1; len(left) > 0; try++ {
		var all []startedOperation
		for _, i := range left {
			id, err := n.startOperation(ctx, act, operation, label, ids[i],
				func(ctx context.Context) (*string, error) { return call(ctx, i) })
			if err != nil {
				n.awaitAll(ctx, all)
				return err
			}
			all = append(all, startedOperation{i, id})
		}
		failed, err := n.collectFailed(ctx, all, ids)
		if err != nil && len(failed) == 0 {
			n.awaitAll(ctx, all)
		}
		if err != nil && (try >= n.Tries || len(failed) == 0) {
			return err
		}
		left = failed
	}
	return nil
}

// maxUnreadTries is how often awaitAll reads an operation whose reads fail: a caller that stops ends the retries of a
// call too.
const maxUnreadTries = 10

// awaitAll waits for operations to end although the caller stops. A following step may read
// immediately and must not see a state that is about to change.
func (n InstanceClient) awaitAll(ctx context.Context, all []startedOperation) {
	ctx = context.WithoutCancel(ctx)
	unread := 0
	for _, b := range all {
		for b.id != "" {
			_, err := n.awaitOperation(ctx, b.id)
			if err == nil || sluice.KindOf(err) == sluice.Stall {
				break
			}
			if unread++; unread == maxUnreadTries || n.Pause(ctx, readInterval) != nil {
				return
			}
		}
	}
}

// maxBusyTries is how often a write is tried while another operation works on the instance.
const maxBusyTries = 15

// startOperation makes one write. If the same operation is running already (the first request took
// effect and its response was lost), it returns that operation. If another operation works on the
// instance, it waits for its end first.
func (n InstanceClient) startOperation(ctx context.Context, act sluice.Act, operation, label, id string,
	call func(context.Context) (*string, error)) (op string, err error) {
	planned := sluice.Write{Operation: "servicediscovery:" + operation, Resource: label}
	actual := sluice.Write{Operation: planned.Operation, Resource: n.Registry.ID + "/" + id}
	for try := 1; ; try++ {
		busy := false
		err = act(ctx, sluice.Attempt{Action: actionNames[operation] + " " + id, Planned: planned, Actual: actual},
			func(ctx context.Context) (string, error) {
				got, err := call(ctx)
				var same *sdtypes.DuplicateRequest
				var inUse *sdtypes.ResourceInUse
				switch {
				case errors.As(err, &same) && aws.ToString(same.DuplicateOperationId) != "":
					op = *same.DuplicateOperationId
					return "already in progress: " + op, nil
				case errors.As(err, &same), errors.As(err, &inUse):
					busy = true
				case errors.Is(err, sluice.ErrUnanswered):
					busy = true // a repeated write has the same effect, so try again
				}
				op = aws.ToString(got)
				return op, err
			})
		if !busy || try == maxBusyTries {
			return op, err
		}
		if err := n.Pause(ctx, 2*time.Second); err != nil {
			return "", err
		}
	}
}

// actionNames are the names of actions on instances.
var actionNames = map[string]string{"RegisterInstance": "register", "DeregisterInstance": "deregister"}

// collectFailed waits for operations and returns the indices of those that failed, with the first
// cause.
func (n InstanceClient) collectFailed(ctx context.Context, all []startedOperation, ids []string) (failed []int,
	err error) {
	for _, b := range all {
		if b.id == "" {
			continue
		}
		why, looking := n.awaitOperation(ctx, b.id)
		if looking != nil {
			return nil, looking
		}
		if why == "" {
			continue
		}
		failed = append(failed, b.index)
		if err == nil {
			err = &sluice.Error{Op: "wait for Cloud Map's operation " + b.id, Resource: n.Registry.ID + "/" +
				ids[b.index], Err: errors.New(why),
				Next: "see the operation: aws servicediscovery get-operation --operation-id " + b.id +
					"; then deploy again"}
		}
	}
	return failed, err
}

// operationLimit is how long an operation may take. AWS documents no limit; operations of seconds
// were observed.
const operationLimit = 5 * time.Minute

// awaitOperation reads an operation until it has ended; why is not empty if it failed.
func (n InstanceClient) awaitOperation(ctx context.Context, id string) (why string, err error) {
	for waited := time.Duration(0); ; waited += readInterval {
		out, err := n.API.GetOperation(ctx, &awssd.GetOperationInput{OperationId: aws.String(id)})
		if err != nil {
			return "", fmt.Errorf("read operation %s: %w", id, sluice.Inner(err))
		}
		switch o := out.Operation; o.Status {
		case sdtypes.OperationStatusSuccess:
			return "", nil
		case sdtypes.OperationStatusFail:
			return fmt.Sprintf("the operation failed: %s: %s", aws.ToString(o.ErrorCode),
				aws.ToString(o.ErrorMessage)), nil
		}
		if waited >= operationLimit {
			return "", &sluice.Error{Op: "wait for Cloud Map's operation " + id, Resource: n.Registry.FullName(),
				Kind: sluice.Stall,
				Err:  fmt.Errorf("the operation did not end within %s", operationLimit),
				Next: "see the operation: aws servicediscovery get-operation --operation-id " + id}
		}
		if err := n.Pause(ctx, readInterval); err != nil {
			return "", err
		}
	}
}
