package ecs

import (
	"context"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/scheduler"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// revision is a service revision: the configuration of a deployment, as requested. It never
// changes.
type revision struct {
	taskSet *world.TaskSet
	shape   ecstypes.ServiceRevision
}

func newRevision(tx *world.Tx, ts *world.TaskSet) *revision {
	svc, doc := ts.Service, deepCopy(*docOfSet(ts))
	r := &revision{taskSet: ts, shape: ecstypes.ServiceRevision{
		ServiceRevisionArn: ptr(tx.ARN("ecs", "service-revision/"+svc.ID()+"/"+tx.NewDigits("service revision", 19))),
		ServiceArn:         ptr(svc.ARN), ClusterArn: ptr(svc.Cluster.ARN), TaskDefinition: ptr(ts.Definition.ARN),
		CreatedAt: optionalTime(tx.Now()), LaunchType: doc.LaunchType,
		CapacityProviderStrategy: doc.CapacityProviderStrategy,
		PlatformVersion:          doc.PlatformVersion, PlatformFamily: doc.PlatformFamily,
		NetworkConfiguration: doc.NetworkConfiguration,
		LoadBalancers:        doc.LoadBalancers, ServiceRegistries: doc.ServiceRegistries,
		VolumeConfigurations:        deepCopy(docOfDeployment(ts).volumes),
		ServiceConnectConfiguration: deepCopy(docOfDeployment(ts).connect),
	}}
	for _, c := range ts.Definition.Containers {
		r.shape.ContainerImages = append(r.shape.ContainerImages,
			ecstypes.ContainerImage{ContainerName: ptr(c.Name), Image: ptr(c.Image)})
	}
	if len(doc.LoadBalancers) > 0 {
		r.shape.ResolvedConfiguration = &ecstypes.ResolvedConfiguration{}
	}
	for _, a := range ts.Attached { // with the target group that the scheduler has chosen
		r.shape.ResolvedConfiguration.LoadBalancers = append(r.shape.ResolvedConfiguration.LoadBalancers,
			ecstypes.ServiceRevisionLoadBalancer{TargetGroupArn: ptr(a.TargetGroup),
				ProductionListenerRule: optionalText(a.ProductionRule)})
	}
	return r
}

// show returns the revision with the digests that its first task has resolved.
func (r *revision) show() ecstypes.ServiceRevision {
	shown := deepCopy(r.shape)
	for i := range shown.ContainerImages {
		x := &shown.ContainerImages[i]
		x.ImageDigest = optionalText(r.taskSet.Digests[*x.ContainerName])
	}
	return shown
}

// revisionOf returns the ARN of a deployment's revision, or "".
func revisionOf(ts *world.TaskSet) string {
	for _, r := range docOfService(ts.Service).revisions {
		if r.taskSet == ts {
			return *r.shape.ServiceRevisionArn
		}
	}
	return ""
}

// dropOldRevisions deletes revisions that the API no longer returns.
func (h rolloutHistory) dropOldRevisions(tx *world.Tx, svc *world.Service) {
	doc, used := docOfService(svc), map[*world.TaskSet]bool{}
	for _, ts := range svc.TaskSets {
		used[ts] = true
	}
	for _, r := range scheduler.RolloutsOf(svc) {
		used[r.Target] = true
		for _, ts := range r.Sources {
			used[ts] = true
		}
	}
	var left []*revision
	for _, r := range doc.revisions {
		if used[r.taskSet] || tx.Now().Sub(*r.shape.CreatedAt) <= historyRetention {
			left = append(left, r)
		}
	}
	doc.revisions = left
}

// DescribeServiceRevisions returns up to 20 service revisions by ARN.
func (s *Service) DescribeServiceRevisions(ctx context.Context,
	in *awsecs.DescribeServiceRevisionsInput) (*awsecs.DescribeServiceRevisionsOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.DescribeServiceRevisionsOutput, error) {
		if n := len(in.ServiceRevisionArns); n == 0 || n > maxHistory {
			return nil, invalidParameter("serviceRevisionArns must have between 1 and %d elements.", maxHistory)
		}
		out := &awsecs.DescribeServiceRevisionsOutput{ServiceRevisions: []ecstypes.ServiceRevision{},
			Failures: []ecstypes.Failure{}}
		for _, arn := range in.ServiceRevisionArns {
			if r := revisionBy(tx, arn); r != nil {
				out.ServiceRevisions = append(out.ServiceRevisions, r.show())
			} else {
				out.Failures = append(out.Failures, missingFailure(arn))
			}
		}
		return out, nil
	})
}

// revisionBy returns a revision that is in use or younger than 90 days, or nil.
func revisionBy(tx *world.Tx, arn string) *revision {
	svc := serviceOfARN(tx, arn, "service-revision")
	if svc == nil || svc.Status == "INACTIVE" {
		return nil
	}
	for _, r := range docOfService(svc).revisions {
		live := r.taskSet.Status != "INACTIVE"
		if *r.shape.ServiceRevisionArn == arn && (live || tx.Now().Sub(*r.shape.CreatedAt) <= historyRetention) {
			return r
		}
	}
	return nil
}
