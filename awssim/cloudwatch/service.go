// Package cloudwatch implements the API of Amazon CloudWatch: alarms, and metric data as far as
// reading back stored data. Application Load Balancers publish how many requests they sent to their
// targets, and how long the targets took.
//
// Alarms are resources of the world, which ECS's deployment alarms read. They are evaluated every
// minute on their metric; actions are never carried out. It does not simulate composite and log
// alarms, dashboards, insight rules, metric streams and metric math.
//
// The service speaks three protocols: CBOR to the Go SDK, query to older clients, awsJson 1.0 to
// others.
//
// Start reading at [Service.PutMetricAlarm] in put.go, then evaluate.go, describe.go and data.go.
package cloudwatch

import (
	"context"

	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	smithy "github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// Service implements the API of CloudWatch.
type Service struct{ world *world.World }

// New creates the API over w.
func New(w *world.World) *Service { return &Service{world: w} }

// NewAPI returns the API in the form that wire serves.
func NewAPI(w *world.World) wire.API {
	return wire.API{
		Name: "cloudwatch", Signing: "monitoring", ServiceID: "CloudWatch",
		Protocol: wire.CBOR, Also: []wire.Protocol{wire.Query, wire.JSON10}, Target: "GraniteServiceVersion20100801",
		Version: "2010-08-01", Namespace: "http://monitoring.amazonaws.com/doc/2010-08-01/",
		Service: New(w), Violation: "ValidationError", Constraints: constraints(),
		Errors: modelledErrors(), QueryCodes: queryCodes(), Known: unsimulatedOperations(),
		Unions: []any{&cwtypes.EvaluationCriteriaMemberPromQLCriteria{}, &cwtypes.EvaluationWindowMemberSlidingWindow{},
			&cwtypes.EvaluationWindowMemberWallClockWindow{}},
	}
}

// modelledErrors returns the errors of CloudWatch's model.
func modelledErrors() []smithy.APIError {
	return []smithy.APIError{
		&cwtypes.ConcurrentModificationException{}, &cwtypes.ConflictException{}, &cwtypes.InternalServiceFault{},
		&cwtypes.InvalidFormatFault{}, &cwtypes.InvalidNextToken{}, &cwtypes.InvalidParameterCombinationException{},
		&cwtypes.InvalidParameterValueException{}, &cwtypes.LimitExceededException{}, &cwtypes.LimitExceededFault{},
		&cwtypes.MissingRequiredParameterException{}, &cwtypes.ResourceNotFound{}, &cwtypes.ResourceNotFoundException{},
	}
}

// queryCodes returns the older error codes of the query protocol (the awsQueryError traits of
// CloudWatch's model).
func queryCodes() map[string]string {
	return map[string]string{
		"InternalServiceFault": "InternalServiceError", "InvalidFormatFault": "InvalidFormat",
		"InvalidNextToken":                     "InvalidNextToken",
		"InvalidParameterCombinationException": "InvalidParameterCombination",
		"InvalidParameterValueException":       "InvalidParameterValue",
		"LimitExceededFault":                   "LimitExceeded",
		"MissingRequiredParameterException":    "MissingParameter",
		"ResourceNotFound":                     "ResourceNotFound",
		"ResourceNotFoundException":            "ResourceNotFoundException",
		"ConcurrentModificationException":      "ConcurrentModificationException",
		"LimitExceededException":               "LimitExceededException",
	}
}

// unsimulatedOperations returns the operations of AWS that are not simulated.
func unsimulatedOperations() []string {
	return []string{
		"AssociateDatasetKmsKey", "CreateResourceMetricsConfiguration", "DeleteAlarmMuteRule", "DeleteAnomalyDetector",
		"DeleteDashboards", "DeleteInsightRules", "DeleteMetricStream", "DeleteResourceMetricsConfiguration",
		"DescribeAlarmContributors", "DescribeAlarmsForMetric", "DescribeAnomalyDetectors", "DescribeInsightRules",
		"DisableInsightRules", "DisassociateDatasetKmsKey", "EnableInsightRules", "GetAlarmMuteRule", "GetDashboard",
		"GetDataset", "GetInsightRuleReport", "GetMetricStream", "GetMetricWidgetImage", "GetOTelEnrichment",
		"GetResourceMetricsConfiguration", "ListAlarmMuteRules", "ListDashboards", "ListManagedInsightRules",
		"ListMetricStreams", "ListMetrics", "PutAlarmMuteRule", "PutAnomalyDetector", "PutCompositeAlarm",
		"PutDashboard",
		"PutInsightRule", "PutLogAlarm", "PutManagedInsightRules", "PutMetricStream", "StartMetricStreams",
		"StartOTelEnrichment", "StopMetricStreams", "StopOTelEnrichment", "UpdateOTelEnrichment",
		"UpdateResourceMetricsConfiguration",
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
