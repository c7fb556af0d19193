package ecs

import (
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/scheduler"
	"github.com/sluice-ecs/sluice/awssim/world"
)

func deploymentBrief(r *scheduler.Rollout) ecstypes.ServiceDeploymentBrief {
	svc := r.Service()
	return ecstypes.ServiceDeploymentBrief{
		ServiceDeploymentArn: ptr(docOfRollout(r).arn), ServiceArn: ptr(svc.ARN), ClusterArn: ptr(svc.Cluster.ARN),
		TargetServiceRevisionArn: ptr(revisionOf(r.Target)),
		Status:                   ecstypes.ServiceDeploymentStatus(r.Status), StatusReason: optionalText(r.Reason),
		CreatedAt: optionalTime(r.CreatedAt), StartedAt: optionalTime(r.StartedAt),
		FinishedAt: optionalTime(r.FinishedAt),
	}
}

func (h rolloutHistory) showRollout(r *scheduler.Rollout) ecstypes.ServiceDeployment {
	svc := r.Service()
	d := ecstypes.ServiceDeployment{
		ServiceDeploymentArn: ptr(docOfRollout(r).arn), ServiceArn: ptr(svc.ARN), ClusterArn: ptr(svc.Cluster.ARN),
		Status: ecstypes.ServiceDeploymentStatus(r.Status), StatusReason: optionalText(r.Reason),
		CreatedAt: optionalTime(r.CreatedAt), StartedAt: optionalTime(r.StartedAt),
		FinishedAt: optionalTime(r.FinishedAt),
		StoppedAt:  optionalTime(r.StoppedAt), UpdatedAt: optionalTime(r.UpdatedAt),
		LifecycleStage:           ecstypes.ServiceDeploymentLifecycleStage(r.Stage()),
		LifecycleHookDetails:     showHooks(r),
		TargetServiceRevision:    ptr(h.revisionSummary(r.Target)),
		SourceServiceRevisions:   []ecstypes.ServiceRevisionSummary{},
		DeploymentConfiguration:  deepCopy(docOfRollout(r).configuration),
		DeploymentCircuitBreaker: showBreaker(r.Breaker()), Alarms: showAlarms(r, r.Alarms()),
	}
	for _, old := range r.Sources {
		d.SourceServiceRevisions = append(d.SourceServiceRevisions, h.revisionSummary(old))
		showShares(&d.SourceServiceRevisions[len(d.SourceServiceRevisions)-1], r, old)
	}
	showShares(d.TargetServiceRevision, r, r.Target)
	if b := r.Rollback; b != nil {
		d.Rollback = &ecstypes.Rollback{Reason: ptr(b.Reason), StartedAt: optionalTime(b.At),
			ServiceRevisionArn: ptr(revisionOf(b.To))}
	}
	return d
}

func showBreaker(m scheduler.Monitor) *ecstypes.ServiceDeploymentCircuitBreaker {
	return &ecstypes.ServiceDeploymentCircuitBreaker{
		Status: ecstypes.ServiceDeploymentRollbackMonitorsStatus(m.Status), FailureCount: int32(m.Count),
		Threshold: int32(m.Threshold),
	}
}

func showAlarms(r *scheduler.Rollout, m scheduler.Monitor) *ecstypes.ServiceDeploymentAlarms {
	d := &ecstypes.ServiceDeploymentAlarms{Status: ecstypes.ServiceDeploymentRollbackMonitorsStatus(m.Status)}
	if c := docOfRollout(r).configuration; c != nil && c.Alarms != nil && c.Alarms.Enable {
		d.AlarmNames, d.TriggeredAlarmNames = deepCopy(c.Alarms.AlarmNames), deepCopy(m.Raised)
	}
	return d
}

func (h rolloutHistory) revisionSummary(ts *world.TaskSet) ecstypes.ServiceRevisionSummary {
	running, pending := countTasks(ts)
	return ecstypes.ServiceRevisionSummary{Arn: ptr(revisionOf(ts)), RequestedTaskCount: int32(h.sched.RequestedTasks(ts)),
		RunningTaskCount: int32(running), PendingTaskCount: int32(pending)}
}

// showCurrent adds the current deployment and the current revisions to the service.
func (h rolloutHistory) showCurrent(d *ecstypes.Service, svc *world.Service) {
	all := scheduler.RolloutsOf(svc)
	if len(all) == 0 {
		return
	}
	d.CurrentServiceDeployment = ptr(docOfRollout(all[len(all)-1]).arn)
	for _, ts := range svc.TaskSets {
		x := h.revisionSummary(ts)
		d.CurrentServiceRevisions = append(d.CurrentServiceRevisions, ecstypes.ServiceCurrentRevisionSummary{
			Arn: x.Arn, RequestedTaskCount: x.RequestedTaskCount, RunningTaskCount: x.RunningTaskCount,
			PendingTaskCount: x.PendingTaskCount,
		})
	}
}
