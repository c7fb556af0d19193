package ecs

import (
	"context"
	"slices"
	"time"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// record is one service deployment of a service with controller ECS, with the
// service revision that it brings. It outlives its tasks, not its service.
type record struct {
	arn, revision string
	set           *world.TaskSet
	from          []*record // deployments that had tasks when it began
	status        string
	why           string

	created, started, finished, stopped, updated time.Time
}

// recordDeployment follows deployments as the scheduler moves them.
func recordDeployment(tx *world.Tx, c world.Change) {
	switch o := c.Object.(type) {
	case *world.TaskSet:
		if o.Service.Controller == "ECS" {
			recordOf(tx, o).follow(tx)
		}
	case *world.Task:
		if o.Set != nil && o.LastStatus == "PROVISIONING" && o.Service.Controller == "ECS" {
			recordOf(tx, o.Set).begin(tx)
		}
	}
}

func recordOf(tx *world.Tx, ts *world.TaskSet) *record {
	doc := docOfService(ts.Service)
	for i := len(doc.history) - 1; i >= 0; i-- {
		if doc.history[i].set == ts {
			return doc.history[i]
		}
	}
	r := &record{
		arn:      tx.ARN("ecs", "service-deployment/"+ts.Service.ID()+"/"+tx.NewHex("service deployment", 21)),
		revision: tx.ARN("ecs", "service-revision/"+ts.Service.ID()+"/"+tx.NewDigits("service revision", 19)),
		set:      ts, status: "PENDING", created: tx.Now(), updated: tx.Now(),
	}
	for _, old := range doc.history {
		if len(old.set.Tasks) > 0 {
			r.from = append(r.from, old)
		}
	}
	doc.history = append(doc.history, r)
	return r
}

func (r *record) begin(tx *world.Tx) {
	if r.status == "PENDING" {
		r.status, r.started, r.updated = "IN_PROGRESS", tx.Now(), tx.Now()
	}
}

// follow: a completed deployment is SUCCESSFUL; one that a newer one overtakes
// is STOP_REQUESTED, and STOPPED when its tasks are gone.
func (r *record) follow(tx *world.Tx) {
	before := r.status
	switch ts := r.set; {
	case r.status == "SUCCESSFUL" || r.status == "STOPPED":
		return
	case ts.RolloutState == "COMPLETED":
		r.begin(tx)
		r.status, r.finished = "SUCCESSFUL", tx.Now()
	case ts.Status == "ACTIVE":
		r.status, r.why = "STOP_REQUESTED", "Service deployment stopped because a new service deployment was created."
	case ts.Status == "INACTIVE" || ts.Status == "DRAINING":
		r.status, r.finished, r.stopped = "STOPPED", tx.Now(), tx.Now()
	}
	if r.status != before {
		r.updated = tx.Now()
	}
}

// showRevisions points the service to its deployment and its revisions.
func showRevisions(d *ecstypes.Service, svc *world.Service) {
	history := docOfService(svc).history
	if len(history) == 0 {
		return
	}
	d.CurrentServiceDeployment = ptr(history[len(history)-1].arn)
	for _, r := range history {
		if r.set.Status == "PRIMARY" || r.set.Status == "ACTIVE" {
			running, pending := countTasks(r.set)
			d.CurrentServiceRevisions = append(d.CurrentServiceRevisions, ecstypes.ServiceCurrentRevisionSummary{
				Arn: ptr(r.revision), RequestedTaskCount: requested(r.set), RunningTaskCount: int32(running), PendingTaskCount: int32(pending),
			})
		}
	}
}

func requested(ts *world.TaskSet) int32 {
	if ts.Status == "PRIMARY" {
		return int32(ts.Computed)
	}
	return 0
}

// historyOf finds a service of any status whose controller keeps a history.
func historyOf(tx *world.Tx, cluster, id *string) ([]*record, error) {
	c, err := clusterOf(tx, cluster)
	if err != nil {
		return nil, err
	}
	svc, ok := serviceIn(tx, c, val(id))
	if !ok {
		return nil, world.Refuse("ServiceNotFoundException", "Service not found.")
	}
	if svc.Controller != "ECS" {
		return nil, world.Refuse("UnsupportedFeatureException", "Service deployments are only supported for services with the ECS deployment controller.")
	}
	return docOfService(svc).history, nil
}

// ListServiceDeployments lists a service's deployments, newest first, 20 at a
// time unless asked for up to 100.
func (s *Service) ListServiceDeployments(ctx context.Context, in *awsecs.ListServiceDeploymentsInput) (*awsecs.ListServiceDeploymentsOutput, error) {
	return call(ctx, s, func(tx *world.Tx) (*awsecs.ListServiceDeploymentsOutput, error) {
		history, err := historyOf(tx, in.Cluster, in.Service)
		if err != nil {
			return nil, err
		}
		byARN := map[string]*record{}
		var arns []string
		for _, r := range history {
			if isAskedFor(r, in) {
				byARN[r.arn], arns = r, append(arns, r.arn)
			}
		}
		slices.Reverse(arns)
		page, next, err := pageFrom(arns, in.NextToken, int(val(in.MaxResults)), 20, 100)
		out := &awsecs.ListServiceDeploymentsOutput{ServiceDeployments: []ecstypes.ServiceDeploymentBrief{}, NextToken: next}
		for _, arn := range page {
			out.ServiceDeployments = append(out.ServiceDeployments, byARN[arn].brief())
		}
		return out, err
	})
}

func isAskedFor(r *record, in *awsecs.ListServiceDeploymentsInput) bool {
	if len(in.Status) > 0 && !has(in.Status, ecstypes.ServiceDeploymentStatus(r.status)) {
		return false
	}
	c := in.CreatedAt
	return c == nil || (c.After == nil || r.created.After(*c.After)) && (c.Before == nil || r.created.Before(*c.Before))
}

func (r *record) brief() ecstypes.ServiceDeploymentBrief {
	svc := r.set.Service
	return ecstypes.ServiceDeploymentBrief{
		ServiceDeploymentArn: ptr(r.arn), ServiceArn: ptr(svc.ARN), ClusterArn: ptr(svc.Cluster.ARN), TargetServiceRevisionArn: ptr(r.revision),
		Status: ecstypes.ServiceDeploymentStatus(r.status), StatusReason: text(r.why),
		CreatedAt: stamp(r.created), StartedAt: stamp(r.started), FinishedAt: stamp(r.finished),
	}
}

func (r *record) summary() ecstypes.ServiceRevisionSummary {
	running, pending := countTasks(r.set)
	return ecstypes.ServiceRevisionSummary{Arn: ptr(r.revision), RequestedTaskCount: requested(r.set),
		RunningTaskCount: int32(running), PendingTaskCount: int32(pending)}
}

func (r *record) whole() ecstypes.ServiceDeployment {
	svc := r.set.Service
	d := ecstypes.ServiceDeployment{
		ServiceDeploymentArn: ptr(r.arn), ServiceArn: ptr(svc.ARN), ClusterArn: ptr(svc.Cluster.ARN),
		Status: ecstypes.ServiceDeploymentStatus(r.status), StatusReason: text(r.why),
		CreatedAt: stamp(r.created), StartedAt: stamp(r.started), FinishedAt: stamp(r.finished), StoppedAt: stamp(r.stopped), UpdatedAt: stamp(r.updated),
		TargetServiceRevision: ptr(r.summary()), SourceServiceRevisions: []ecstypes.ServiceRevisionSummary{},
		DeploymentConfiguration: clone(docOfService(svc).shape.DeploymentConfiguration),
	}
	for _, old := range r.from {
		d.SourceServiceRevisions = append(d.SourceServiceRevisions, old.summary())
	}
	return d
}

// recordBy finds a record by the ARN of its deployment or of its revision.
func recordBy(tx *world.Tx, arn string, of func(*record) string) *record {
	for _, svc := range tx.Services.All() {
		for _, r := range docOfService(svc).history {
			if of(r) == arn {
				return r
			}
		}
	}
	return nil
}

const mostHistory = 20

// DescribeServiceDeployments shows up to 20 deployments by ARN.
func (s *Service) DescribeServiceDeployments(ctx context.Context, in *awsecs.DescribeServiceDeploymentsInput) (*awsecs.DescribeServiceDeploymentsOutput, error) {
	return call(ctx, s, func(tx *world.Tx) (*awsecs.DescribeServiceDeploymentsOutput, error) {
		if n := len(in.ServiceDeploymentArns); n == 0 || n > mostHistory {
			return nil, invalid("serviceDeploymentArns must have between 1 and %d elements.", mostHistory)
		}
		out := &awsecs.DescribeServiceDeploymentsOutput{ServiceDeployments: []ecstypes.ServiceDeployment{}, Failures: []ecstypes.Failure{}}
		for _, arn := range in.ServiceDeploymentArns {
			if r := recordBy(tx, arn, func(r *record) string { return r.arn }); r != nil {
				out.ServiceDeployments = append(out.ServiceDeployments, r.whole())
			} else {
				out.Failures = append(out.Failures, missing(arn))
			}
		}
		return out, nil
	})
}

// DescribeServiceRevisions shows up to 20 service revisions by ARN.
func (s *Service) DescribeServiceRevisions(ctx context.Context, in *awsecs.DescribeServiceRevisionsInput) (*awsecs.DescribeServiceRevisionsOutput, error) {
	return call(ctx, s, func(tx *world.Tx) (*awsecs.DescribeServiceRevisionsOutput, error) {
		if n := len(in.ServiceRevisionArns); n == 0 || n > mostHistory {
			return nil, invalid("serviceRevisionArns must have between 1 and %d elements.", mostHistory)
		}
		out := &awsecs.DescribeServiceRevisionsOutput{ServiceRevisions: []ecstypes.ServiceRevision{}, Failures: []ecstypes.Failure{}}
		for _, arn := range in.ServiceRevisionArns {
			if r := recordBy(tx, arn, func(r *record) string { return r.revision }); r != nil {
				out.ServiceRevisions = append(out.ServiceRevisions, r.snapshot())
			} else {
				out.Failures = append(out.Failures, missing(arn))
			}
		}
		return out, nil
	})
}

func (r *record) snapshot() ecstypes.ServiceRevision {
	svc, doc := r.set.Service, clone(*docOfSet(r.set))
	d := ecstypes.ServiceRevision{
		ServiceRevisionArn: ptr(r.revision), ServiceArn: ptr(svc.ARN), ClusterArn: ptr(svc.Cluster.ARN), TaskDefinition: ptr(r.set.Definition.ARN),
		CreatedAt: stamp(r.created), LaunchType: doc.LaunchType, CapacityProviderStrategy: doc.CapacityProviderStrategy,
		PlatformVersion: doc.PlatformVersion, PlatformFamily: doc.PlatformFamily, NetworkConfiguration: doc.NetworkConfiguration,
		LoadBalancers: doc.LoadBalancers, ServiceRegistries: doc.ServiceRegistries,
	}
	for _, c := range r.set.Definition.Containers {
		d.ContainerImages = append(d.ContainerImages, ecstypes.ContainerImage{
			ContainerName: ptr(c.Name), Image: ptr(c.Image), ImageDigest: ptr(digestOf(c.Image)),
		})
	}
	return d
}
