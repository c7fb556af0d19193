// Package cloudwatch is the room of Amazon CloudWatch: alarms, and metric data as
// far as reading back what was put.
//
// Alarms are facts of the world, which ECS's deployment alarms read. Their state
// is what PutMetricAlarm began with or SetAlarmState set: metrics are never
// evaluated, actions are never carried out. Composite and log alarms, dashboards,
// insight rules, metric streams and metric math are not simulated.
//
// The service speaks three protocols: CBOR to the Go SDK, query to older clients,
// awsJson 1.0 to others.
//
// Start reading at [Service.PutMetricAlarm] in put.go, then describe.go and data.go.
package cloudwatch

import (
	"context"

	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	smithy "github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// Service is the room.
type Service struct{ world *world.World }

// New makes the room over w.
func New(w *world.World) *Service { return &Service{world: w} }

// Room is the room with what wire must know of CloudWatch.
func Room(w *world.World) wire.Room {
	return wire.Room{
		Name: "cloudwatch", Signing: "monitoring", ServiceID: "CloudWatch",
		Protocol: wire.CBOR, Also: []wire.Protocol{wire.Query, wire.JSON10}, Target: "GraniteServiceVersion20100801",
		Version: "2010-08-01", Namespace: "http://monitoring.amazonaws.com/doc/2010-08-01/", Operations: New(w).operations(),
		Errors: modelled(), QueryCodes: queryCodes(), Known: known(),
		Unions: []any{&cwtypes.EvaluationCriteriaMemberPromQLCriteria{}, &cwtypes.EvaluationWindowMemberSlidingWindow{},
			&cwtypes.EvaluationWindowMemberWallClockWindow{}},
	}
}

// modelled are the errors of CloudWatch's model.
func modelled() []smithy.APIError {
	return []smithy.APIError{
		&cwtypes.ConcurrentModificationException{}, &cwtypes.ConflictException{}, &cwtypes.InternalServiceFault{},
		&cwtypes.InvalidFormatFault{}, &cwtypes.InvalidNextToken{}, &cwtypes.InvalidParameterCombinationException{},
		&cwtypes.InvalidParameterValueException{}, &cwtypes.LimitExceededException{}, &cwtypes.LimitExceededFault{},
		&cwtypes.MissingRequiredParameterException{}, &cwtypes.ResourceNotFound{}, &cwtypes.ResourceNotFoundException{},
	}
}

// queryCodes are those of the time when CloudWatch spoke query alone (the
// awsQueryError traits of its model).
func queryCodes() map[string]string {
	return map[string]string{
		"InternalServiceFault": "InternalServiceError", "InvalidFormatFault": "InvalidFormat", "InvalidNextToken": "InvalidNextToken",
		"InvalidParameterCombinationException": "InvalidParameterCombination", "InvalidParameterValueException": "InvalidParameterValue",
		"LimitExceededFault": "LimitExceeded", "MissingRequiredParameterException": "MissingParameter",
		"ResourceNotFound": "ResourceNotFound", "ResourceNotFoundException": "ResourceNotFoundException",
		"ConcurrentModificationException": "ConcurrentModificationException", "LimitExceededException": "LimitExceededException",
	}
}

// known are operations that AWS has and the room has not.
func known() []string {
	return []string{
		"AssociateDatasetKmsKey", "CreateResourceMetricsConfiguration", "DeleteAlarmMuteRule", "DeleteAnomalyDetector",
		"DeleteDashboards", "DeleteInsightRules", "DeleteMetricStream", "DeleteResourceMetricsConfiguration",
		"DescribeAlarmContributors", "DescribeAlarmsForMetric", "DescribeAnomalyDetectors", "DescribeInsightRules",
		"DisableInsightRules", "DisassociateDatasetKmsKey", "EnableInsightRules", "GetAlarmMuteRule", "GetDashboard",
		"GetDataset", "GetInsightRuleReport", "GetMetricStream", "GetMetricWidgetImage", "GetOTelEnrichment",
		"GetResourceMetricsConfiguration", "ListAlarmMuteRules", "ListDashboards", "ListManagedInsightRules",
		"ListMetricStreams", "ListMetrics", "PutAlarmMuteRule", "PutAnomalyDetector", "PutCompositeAlarm", "PutDashboard",
		"PutInsightRule", "PutLogAlarm", "PutManagedInsightRules", "PutMetricStream", "StartMetricStreams",
		"StartOTelEnrichment", "StopMetricStreams", "StopOTelEnrichment", "UpdateOTelEnrichment",
		"UpdateResourceMetricsConfiguration",
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
