package ecs

import (
	"context"
	"slices"
	"strings"
	"time"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/scheduler"
	"github.com/sluice-ecs/sluice/awssim/world"
)

const (
	// historyRetention is how long the API returns ended service deployments.
	historyRetention = 90 * 24 * time.Hour
	maxHistory       = 20
)

// rolloutDoc holds the parts of a service deployment that no controller reads.
type rolloutDoc struct {
	arn           string
	configuration *ecstypes.DeploymentConfiguration // of its last change before the end
}

func docOfRollout(r *scheduler.Rollout) *rolloutDoc { return r.Doc.(*rolloutDoc) }

// recordDeployment adds the document and the revision of the newest service deployment.
func (h rolloutHistory) recordDeployment(tx *world.Tx, svc *world.Service) {
	all := scheduler.RolloutsOf(svc)
	r := all[len(all)-1]
	r.Doc = &rolloutDoc{arn: tx.ARN("ecs", "service-deployment/"+svc.ID()+"/"+r.ID)}
	docOfService(svc).revisions = append(docOfService(svc).revisions, newRevision(tx, r.Target))
	h.dropOldRevisions(tx, svc)
	h.refreshConfiguration(svc)
}

// refreshConfiguration copies the service's deployment configuration to the running deployment:
// that configuration decides its success. A deployment that is not rolling keeps its first one.
func (h rolloutHistory) refreshConfiguration(svc *world.Service) {
	all := scheduler.RolloutsOf(svc)
	if len(all) == 0 {
		return
	}
	if r := all[len(all)-1]; !r.HasEnded() && (!r.ShiftsTraffic() || docOfRollout(r).configuration == nil) {
		docOfRollout(r).configuration = deepCopy(docOfService(svc).shape.DeploymentConfiguration)
	}
}

// recentRollouts returns a service's deployments of the last 90 days, oldest first.
func (h rolloutHistory) recentRollouts(tx *world.Tx, svc *world.Service) []*scheduler.Rollout {
	all := scheduler.RolloutsOf(svc)
	for len(all) > 0 && all[0].HasEnded() && tx.Now().Sub(all[0].CreatedAt) > historyRetention {
		all = all[1:]
	}
	return all
}

// serviceWithHistory returns a service, in any status, whose controller keeps a history.
func serviceWithHistory(tx *world.Tx, cluster, id *string) (*world.Service, error) {
	c, err := clusterOf(tx, cluster)
	if err != nil {
		return nil, err
	}
	svc, ok := serviceIn(tx, c, val(id))
	if !ok {
		return nil, world.Refuse("ServiceNotFoundException", "Service not found.")
	}
	if svc.Controller != "ECS" {
		return nil, world.Refuse("UnsupportedFeatureException",
			"Service deployments are only supported for services with the ECS deployment controller.")
	}
	return svc, nil
}

// ListServiceDeployments lists a service's deployments, newest first, 20 at a time unless up to 100
// are requested.
func (s *Service) ListServiceDeployments(ctx context.Context,
	in *awsecs.ListServiceDeploymentsInput) (*awsecs.ListServiceDeploymentsOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.ListServiceDeploymentsOutput, error) {
		svc, err := serviceWithHistory(tx, in.Cluster, in.Service)
		if err != nil {
			return nil, err
		}
		byARN := map[string]*scheduler.Rollout{}
		var arns []string
		for _, r := range s.history.recentRollouts(tx, svc) {
			if isAskedFor(r, in) {
				arn := docOfRollout(r).arn
				byARN[arn], arns = r, append(arns, arn)
			}
		}
		slices.Reverse(arns)
		page, next, err := pageFrom(arns, in.NextToken, int(val(in.MaxResults)), 20, 100)
		out := &awsecs.ListServiceDeploymentsOutput{ServiceDeployments: []ecstypes.ServiceDeploymentBrief{},
			NextToken: next}
		for _, arn := range page {
			out.ServiceDeployments = append(out.ServiceDeployments, deploymentBrief(byARN[arn]))
		}
		return out, err
	})
}

func isAskedFor(r *scheduler.Rollout, in *awsecs.ListServiceDeploymentsInput) bool {
	if len(in.Status) > 0 && !hasItem(in.Status, ecstypes.ServiceDeploymentStatus(r.Status)) {
		return false
	}
	c := in.CreatedAt
	return c == nil || (c.After == nil || r.CreatedAt.After(*c.After)) &&
		(c.Before == nil || r.CreatedAt.Before(*c.Before))
}

// rolloutBy returns a service deployment by ARN, or nil if the API no longer returns it.
func (h rolloutHistory) rolloutBy(tx *world.Tx, arn string) *scheduler.Rollout {
	svc := serviceOfARN(tx, arn, "service-deployment")
	if svc == nil {
		return nil
	}
	for _, r := range h.recentRollouts(tx, svc) {
		if docOfRollout(r).arn == arn {
			return r
		}
	}
	return nil
}

// serviceOfARN returns the service of "<kind>/<cluster>/<service>/<id>".
func serviceOfARN(tx *world.Tx, arn, kind string) *world.Service {
	parts := strings.Split(resourcePart(arn), "/")
	if len(parts) != 4 || parts[0] != kind {
		return nil
	}
	svc, _ := tx.Services.Get(parts[1] + "/" + parts[2])
	return svc
}

// DescribeServiceDeployments returns up to 20 deployments by ARN.
func (s *Service) DescribeServiceDeployments(ctx context.Context,
	in *awsecs.DescribeServiceDeploymentsInput) (*awsecs.DescribeServiceDeploymentsOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.DescribeServiceDeploymentsOutput, error) {
		if n := len(in.ServiceDeploymentArns); n == 0 || n > maxHistory {
			return nil, invalidParameter("serviceDeploymentArns must have between 1 and %d elements.", maxHistory)
		}
		out := &awsecs.DescribeServiceDeploymentsOutput{ServiceDeployments: []ecstypes.ServiceDeployment{},
			Failures: []ecstypes.Failure{}}
		for _, arn := range in.ServiceDeploymentArns {
			if r := s.history.rolloutBy(tx, arn); r != nil {
				out.ServiceDeployments = append(out.ServiceDeployments, s.history.showRollout(r))
			} else {
				out.Failures = append(out.Failures, missingFailure(arn))
			}
		}
		return out, nil
	})
}

// StopServiceDeployment rolls back a running service deployment, even if its configuration has
// rollbacks off. The stop type ABORT is in the SDK's model but not in AWS's documentation; it is
// rejected.
func (s *Service) StopServiceDeployment(ctx context.Context,
	in *awsecs.StopServiceDeploymentInput) (*awsecs.StopServiceDeploymentOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.StopServiceDeploymentOutput, error) {
		if in.StopType != "" && in.StopType != ecstypes.StopServiceDeploymentStopTypeRollback {
			return nil, invalidParameter("Invalid stopType: %s. The valid value is ROLLBACK.", in.StopType)
		}
		r := s.history.rolloutBy(tx, val(in.ServiceDeploymentArn))
		if r == nil {
			return nil, world.Refuse("ServiceDeploymentNotFoundException", "Service deployment not found.")
		}
		if !s.sched.StopRollout(tx, r) {
			return nil,
				world.Refuse("ConflictException",
					"The service deployment cannot be stopped because it is in the %s state.", r.Status)
		}
		return &awsecs.StopServiceDeploymentOutput{ServiceDeploymentArn: ptr(docOfRollout(r).arn)}, nil
	})
}
