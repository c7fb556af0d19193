package ecs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// RecordBatch is the maximum number of service deployments, or of service revisions, per call (ECS
// API Reference).
const RecordBatch = 20

// Records reads service deployments. It caches the task definition and the target groups of each service
// revision, because revisions do not change. It is safe for concurrent use. [NewRecords] creates it.
type Records struct {
	api *awsecs.Client

	mu        sync.Mutex
	revisions map[string]serviceRevision // by ARN
}

// serviceRevision is what is read of a service revision.
type serviceRevision struct {
	name   string   // family:revision
	groups []string // ARNs of the target groups in which its tasks are
}

// NewRecords returns Records with an empty cache.
func NewRecords(api *awsecs.Client) *Records {
	return &Records{api: api, revisions: map[string]serviceRevision{}}
}

// Read reads service deployments by ARN. The result omits deployments that AWS does not know. A
// task definition that AWS does not return is empty (AWS keeps revisions for 90 days).
func (r *Records) Read(ctx context.Context, arns []string) ([]verdict.Record, error) {
	found, err := r.readDeployments(ctx, arns)
	if err == nil {
		err = r.readNewRevisions(ctx, found)
	}
	if err != nil {
		return nil, err
	}
	all := make([]verdict.Record, 0, len(found))
	for _, d := range found {
		all = append(all, r.newRecord(d))
	}
	return all, nil
}

func (r *Records) readDeployments(ctx context.Context, arns []string) (found []ecstypes.ServiceDeployment, err error) {
	for batch := range slices.Chunk(arns, RecordBatch) {
		out, err := r.api.DescribeServiceDeployments(ctx,
			&awsecs.DescribeServiceDeploymentsInput{ServiceDeploymentArns: batch})
		if err != nil {
			return nil, fmt.Errorf("read service deployments: %w", sluice.Inner(err))
		}
		found = append(found, out.ServiceDeployments...)
	}
	return found, nil
}

// readNewRevisions reads the revisions that are not in the cache.
func (r *Records) readNewRevisions(ctx context.Context, found []ecstypes.ServiceDeployment) error {
	var fresh []string
	for _, d := range found {
		for _, arn := range revisionsOf(d) {
			if r.revisionName(arn) == "" && arn != "" && !slices.Contains(fresh, arn) {
				fresh = append(fresh, arn)
			}
		}
	}
	for batch := range slices.Chunk(fresh, RecordBatch) {
		out, err := r.api.DescribeServiceRevisions(ctx,
			&awsecs.DescribeServiceRevisionsInput{ServiceRevisionArns: batch})
		if err != nil {
			return fmt.Errorf("read service revisions: %w", sluice.Inner(err))
		}
		r.storeRevisions(out.ServiceRevisions)
	}
	return nil
}

func (r *Records) storeRevisions(all []ecstypes.ServiceRevision) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rev := range all {
		now := serviceRevision{name: sluice.RevisionOf(aws.ToString(rev.TaskDefinition))}
		if c := rev.ResolvedConfiguration; c != nil {
			for _, lb := range c.LoadBalancers {
				now.groups = append(now.groups, aws.ToString(lb.TargetGroupArn))
			}
		}
		r.revisions[aws.ToString(rev.ServiceRevisionArn)] = now
	}
}

func (r *Records) revisionName(arn string) string { return r.revision(arn).name }

func (r *Records) revision(arn string) serviceRevision {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.revisions[arn]
}

func revisionsOf(d ecstypes.ServiceDeployment) []string {
	var arns []string
	if d.TargetServiceRevision != nil {
		arns = append(arns, aws.ToString(d.TargetServiceRevision.Arn))
	}
	for _, s := range d.SourceServiceRevisions {
		arns = append(arns, aws.ToString(s.Arn))
	}
	if d.Rollback != nil {
		arns = append(arns, aws.ToString(d.Rollback.ServiceRevisionArn))
	}
	return arns
}

func (r *Records) newRecord(d ecstypes.ServiceDeployment) verdict.Record {
	v := verdict.Record{
		ARN: aws.ToString(d.ServiceDeploymentArn), Status: string(d.Status), Reason: aws.ToString(d.StatusReason),
		Stage: string(d.LifecycleStage), CreatedAt: aws.ToTime(d.CreatedAt),
	}
	if t := d.TargetServiceRevision; t != nil {
		v.Weight = aws.ToFloat64(t.RequestedProductionTrafficWeight)
		v.Revision, v.Groups = r.revision(aws.ToString(t.Arn)).name, r.revision(aws.ToString(t.Arn)).groups
	}
	for _, s := range d.SourceServiceRevisions {
		v.From = r.revisionName(aws.ToString(s.Arn))
	}
	if b := d.Rollback; b != nil {
		v.BackTo, v.RollbackReason = r.revisionName(aws.ToString(b.ServiceRevisionArn)), aws.ToString(b.Reason)
	}
	if b := d.DeploymentCircuitBreaker; b != nil {
		v.Breaker = verdict.Counter{Status: string(b.Status), Failures: int(b.FailureCount),
			Threshold: int(b.Threshold)}
	}
	if d.Alarms != nil {
		v.Alarms = slices.Clone(d.Alarms.TriggeredAlarmNames)
	}
	for _, h := range d.LifecycleHookDetails {
		v.Hooks = append(v.Hooks, verdict.Hook{ID: aws.ToString(h.HookId), Target: functionName(aws.ToString(h.TargetArn)),
			Status: string(h.Status), ExpiresAt: aws.ToTime(h.ExpiresAt), Then: string(h.TimeoutAction)})
	}
	return v
}

// functionName returns the name of a Lambda function, without a version or an alias.
func functionName(arn string) string {
	if parts := strings.Split(arn, ":"); len(parts) > 6 {
		return parts[6]
	}
	return arn
}

// IsRefused reports whether AWS rejected the request itself. An error of the server, of the request
// rate or of the connection is no such rejection.
func IsRefused(err error) bool {
	var api smithy.APIError
	var reply *smithyhttp.ResponseError
	if errors.As(err, &reply) && reply.HTTPStatusCode() >= 500 || sluice.KindOf(err) == sluice.Unreachable {
		return false
	}
	return errors.As(err, &api) && api.ErrorFault() != smithy.FaultServer && api.ErrorCode() != "ServerException" &&
		api.ErrorCode() != "InternalFailure"
}

// IsUnsupported reports whether AWS, or its simulator, does not have the operation, does not
// support it for this service, or denies it to the caller. A retry is of no use then.
func IsUnsupported(err error) bool {
	if errors.Is(err, sluice.ErrNoPermission) {
		return true
	}
	var api smithy.APIError
	if !errors.As(err, &api) {
		return false
	}
	switch api.ErrorCode() {
	case "UnsupportedFeatureException", "UnknownOperationException", "InvalidAction", "NotImplemented",
		"AccessDeniedException", "AccessDenied":
		return true
	}
	return false
}
