// Package cloudwatchlogs implements the API of Amazon CloudWatch Logs: groups, streams and events.
// It also has the awslogs driver, which writes the output of modelled containers to streams.
//
// It does not simulate Logs Insights, live tail, subscriptions, metric filters, transformers,
// exports and encryption. Of filter patterns it simulates only plain terms. Events are visible at
// once.
//
// Start reading at [New], then group.go, write.go and read.go.
package cloudwatchlogs

import (
	"context"
	"time"

	logstypes "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	smithy "github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// Service implements the API of CloudWatch Logs.
type Service struct{ world *world.World }

// New creates the API over w and stores the output of containers. Call it once per world, before
// the first step.
func New(w *world.World) *Service {
	w.Watch(func(tx *world.Tx, c world.Change) {
		if t, ok := c.Object.(*world.Task); ok {
			tx.PrintModelled(t)
		}
	})
	return &Service{world: w}
}

// NewAPI returns the API in the form that wire serves.
func NewAPI(w *world.World) wire.API {
	return wire.API{
		Name: "logs", ServiceID: "CloudWatch Logs", Protocol: wire.JSON11, Target: "Logs_20140328",
		LowerFirst: true, Violation: "InvalidParameterException", Constraints: constraints(),
		Service: New(w),
		Errors:  modelledErrors(), Known: unsimulatedOperations(),
	}
}

// modelledErrors returns the errors of the simulated operations.
func modelledErrors() []smithy.APIError {
	return []smithy.APIError{
		&logstypes.AccessDeniedException{}, &logstypes.DataAlreadyAcceptedException{},
		&logstypes.InvalidOperationException{},
		&logstypes.InvalidParameterException{}, &logstypes.InvalidSequenceTokenException{},
		&logstypes.LimitExceededException{},
		&logstypes.OperationAbortedException{}, &logstypes.ResourceAlreadyExistsException{},
		&logstypes.ResourceNotFoundException{},
		&logstypes.ServiceQuotaExceededException{}, &logstypes.ServiceUnavailableException{},
		&logstypes.ThrottlingException{},
		&logstypes.TooManyTagsException{}, &logstypes.UnrecognizedClientException{}, &logstypes.ValidationException{},
	}
}

// unsimulatedOperations returns the operations of AWS on log groups, streams and queries that are
// not simulated.
func unsimulatedOperations() []string {
	return []string{
		"AssociateKmsKey", "CreateExportTask", "DeleteMetricFilter", "DeleteResourcePolicy", "DeleteSubscriptionFilter",
		"DescribeMetricFilters", "DescribeQueries", "DescribeResourcePolicies", "DescribeSubscriptionFilters",
		"DisassociateKmsKey",
		"GetLogGroupFields", "GetLogRecord", "GetQueryResults", "ListLogGroups", "ListTagsLogGroup",
		"PutDataProtectionPolicy",
		"PutLogGroupDeletionProtection", "PutMetricFilter", "PutResourcePolicy", "PutSubscriptionFilter",
		"StartLiveTail",
		"StartQuery", "StopQuery", "TagLogGroup", "TestMetricFilter", "UntagLogGroup",
	}
}

// runStep runs f as one step of the caller's Region.
func runStep[T any](ctx context.Context, s *Service, f func(*world.Tx) (T, error)) (out T, err error) {
	err = s.world.Do(world.KeyOf(ctx), func(tx *world.Tx) error {
		out, err = f(tx)
		return err
	})
	return out, err
}

func ptr[T any](v T) *T { return &v }

func val[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// unixMillis returns a time in the form of this API; nil for the zero time.
func unixMillis(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	return ptr(t.UnixMilli())
}
