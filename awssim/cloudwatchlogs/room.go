// Package cloudwatchlogs is the room of Amazon CloudWatch Logs: groups, streams
// and events, and the awslogs driver that brings what modelled containers print
// into them.
//
// It does not simulate Logs Insights, live tail, subscriptions, metric filters,
// transformers, exports or encryption, and only the plain terms of filter
// patterns. Events are visible at once.
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

// Service is the room.
type Service struct{ world *world.World }

// New makes the room over w and lets it hear what containers print. Call it once
// per world, before the first step.
func New(w *world.World) *Service {
	w.Watch(func(tx *world.Tx, c world.Change) {
		if t, ok := c.Object.(*world.Task); ok {
			tx.PrintModelled(t)
		}
	})
	return &Service{world: w}
}

// Room is the room with what wire must know of CloudWatch Logs.
func Room(w *world.World) wire.Room {
	return wire.Room{
		Name: "logs", ServiceID: "CloudWatch Logs", Protocol: wire.JSON11, Target: "Logs_20140328",
		LowerFirst: true, BadEnum: "InvalidParameterException", Operations: New(w).operations(), Errors: modelled(), Known: known(),
	}
}

// modelled are the errors of the operations that the room has.
func modelled() []smithy.APIError {
	return []smithy.APIError{
		&logstypes.AccessDeniedException{}, &logstypes.DataAlreadyAcceptedException{}, &logstypes.InvalidOperationException{},
		&logstypes.InvalidParameterException{}, &logstypes.InvalidSequenceTokenException{}, &logstypes.LimitExceededException{},
		&logstypes.OperationAbortedException{}, &logstypes.ResourceAlreadyExistsException{}, &logstypes.ResourceNotFoundException{},
		&logstypes.ServiceQuotaExceededException{}, &logstypes.ServiceUnavailableException{}, &logstypes.ThrottlingException{},
		&logstypes.TooManyTagsException{}, &logstypes.UnrecognizedClientException{}, &logstypes.ValidationException{},
	}
}

// known are operations of log groups, streams and queries that AWS has and the
// room has not.
func known() []string {
	return []string{
		"AssociateKmsKey", "CreateExportTask", "DeleteMetricFilter", "DeleteResourcePolicy", "DeleteSubscriptionFilter",
		"DescribeMetricFilters", "DescribeQueries", "DescribeResourcePolicies", "DescribeSubscriptionFilters", "DisassociateKmsKey",
		"GetLogGroupFields", "GetLogRecord", "GetQueryResults", "ListLogGroups", "ListTagsLogGroup", "PutDataProtectionPolicy",
		"PutLogGroupDeletionProtection", "PutMetricFilter", "PutResourcePolicy", "PutSubscriptionFilter", "StartLiveTail",
		"StartQuery", "StopQuery", "TagLogGroup", "TestMetricFilter", "UntagLogGroup",
	}
}

// call runs f as one step of the caller's Region.
func call[T any](ctx context.Context, s *Service, f func(*world.Tx) (T, error)) (out T, err error) {
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

// millis is a time as this API writes it; nil where it never came.
func millis(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	return ptr(t.UnixMilli())
}
