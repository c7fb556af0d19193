package codedeploy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition/appspec"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// GetDeployment reads a deployment; nil if AWS does not know it. If Confirm is set, two reads must
// agree on that.
func (h Client) GetDeployment(ctx context.Context, id string) (*verdict.CodeDeployment, error) {
	d, err := h.getOnce(ctx, id)
	if d != nil || err != nil || h.Confirm == nil {
		return d, err
	}
	if err := h.Confirm(ctx); err != nil {
		return nil, err
	}
	return h.getOnce(ctx, id)
}

func (h Client) getOnce(ctx context.Context, id string) (*verdict.CodeDeployment, error) {
	if id == "" {
		return nil, nil
	}
	out, err := h.API.GetDeployment(ctx, &awscd.GetDeploymentInput{DeploymentId: aws.String(id)})
	if isAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read deployment %s: %w", id, sluice.Inner(err))
	}
	if out.DeploymentInfo == nil {
		return nil, nil
	}
	return newDeployment(*out.DeploymentInfo), nil
}

func newDeployment(i cdtypes.DeploymentInfo) *verdict.CodeDeployment {
	d := &verdict.CodeDeployment{
		ID: aws.ToString(i.DeploymentId), Application: aws.ToString(i.ApplicationName),
		Group:  aws.ToString(i.DeploymentGroupName),
		Config: aws.ToString(i.DeploymentConfigName), Creator: string(i.Creator),
		Description: aws.ToString(i.Description), Status: string(i.Status),
		RollbackOn: eventsOf(i.AutoRollbackConfiguration), SHA256: hashOf(i.Revision),
		Terminating: i.InstanceTerminationWaitTimeStarted, CreatedAt: aws.ToTime(i.CreateTime),
		EndedAt: aws.ToTime(i.CompleteTime),
	}
	d.Ready, d.Terminate, d.KeepBlue = waitTimes(i.BlueGreenDeploymentConfiguration)
	if e := i.ErrorInformation; e != nil {
		d.Code, d.Message = string(e.Code), aws.ToString(e.Message)
	}
	if r := i.RollbackInfo; r != nil {
		d.RollbackID, d.RollbackOf, d.RollbackMessage = aws.ToString(r.RollbackDeploymentId),
			aws.ToString(r.RollbackTriggeringDeploymentId), aws.ToString(r.RollbackMessage)
	}
	return d
}

// ReadTarget reads the service in a deployment: lifecycle events, traffic, both task sets. It
// returns nil if AWS returns no target, or not yet. Without a service it reads the target's id
// first.
func (h Client) ReadTarget(ctx context.Context, id, cluster, service string) (*verdict.CodeTarget, error) {
	if service == "" {
		return h.ignoreNotStarted(h.listTarget(ctx, id))
	}
	t, err := h.readTargets(ctx, id, []string{strings.Replace(serviceKey(cluster, service), "/", ":", 1)})
	var other *cdtypes.DeploymentTargetDoesNotExistException
	var wrong *cdtypes.InvalidDeploymentTargetIdException
	if errors.As(err, &other) || errors.As(err, &wrong) {
		t, err = h.listTarget(ctx, id)
	}
	return h.ignoreNotStarted(t, err)
}

// ignoreNotStarted returns no error if the deployment has no target yet.
func (h Client) ignoreNotStarted(t *verdict.CodeTarget, err error) (*verdict.CodeTarget, error) {
	if isNotStarted(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read a deployment's target: %w", sluice.Inner(err))
	}
	return t, nil
}

// isNotStarted reports whether the deployment does not exist or has not started.
func isNotStarted(err error) bool {
	var early *cdtypes.DeploymentNotStartedException
	return isAbsent(err) || errors.As(err, &early)
}

// listTarget reads the target's id first.
func (h Client) listTarget(ctx context.Context, id string) (*verdict.CodeTarget, error) {
	out, err := h.API.ListDeploymentTargets(ctx, &awscd.ListDeploymentTargetsInput{DeploymentId: aws.String(id)})
	if err != nil || len(out.TargetIds) == 0 {
		return nil, err
	}
	return h.readTargets(ctx, id, out.TargetIds[:1])
}

func (h Client) readTargets(ctx context.Context, id string, targets []string) (*verdict.CodeTarget, error) {
	out, err := h.API.BatchGetDeploymentTargets(ctx, &awscd.BatchGetDeploymentTargetsInput{DeploymentId: aws.String(id),
		TargetIds: targets})
	if err != nil {
		return nil, err
	}
	for _, t := range out.DeploymentTargets {
		if t.EcsTarget != nil {
			return newTarget(id, *t.EcsTarget), nil
		}
	}
	return nil, nil
}

func newTarget(id string, e cdtypes.ECSTarget) *verdict.CodeTarget {
	t := &verdict.CodeTarget{Deployment: id, Name: aws.ToString(e.TargetId), Status: string(e.Status)}
	for _, l := range e.LifecycleEvents {
		ev := verdict.LifecycleEvent{Name: aws.ToString(l.LifecycleEventName), Status: string(l.Status),
			StartedAt: aws.ToTime(l.StartTime), EndedAt: aws.ToTime(l.EndTime)}
		if d := l.Diagnostics; d != nil && d.ErrorCode != cdtypes.LifecycleErrorCodeSuccess {
			ev.Function, ev.Code, ev.Message = aws.ToString(d.ScriptName), string(d.ErrorCode), aws.ToString(d.Message)
		}
		t.Events = append(t.Events, ev)
	}
	for _, s := range e.TaskSetsInfo {
		set := &verdict.CodeSet{ID: aws.ToString(s.Identifer), Status: aws.ToString(s.Status), Weight: s.TrafficWeight,
			Desired: int(s.DesiredCount), Pending: int(s.PendingCount), Running: int(s.RunningCount)}
		if s.TargetGroup != nil {
			set.Group = aws.ToString(s.TargetGroup.Name)
		}
		if s.TaskSetLabel == cdtypes.TargetLabelGreen {
			t.Green = set
		} else {
			t.Blue = set
		}
	}
	return t
}

// RevisionOf returns the ARN of the task definition of a deployment; empty if AWS does not return
// it.
func (h Client) RevisionOf(ctx context.Context, d *verdict.CodeDeployment) (string, error) {
	return h.RevisionByHash(ctx, d.Application, d.SHA256)
}

// RevisionByHash returns the ARN of the task definition in an application's revision, given by the
// SHA-256 of its AppSpec. It returns "" if AWS does not keep the revision.
func (h Client) RevisionByHash(ctx context.Context, application, sha256 string) (string, error) {
	if sha256 == "" {
		return "", nil
	}
	out, err := h.API.GetApplicationRevision(ctx,
		&awscd.GetApplicationRevisionInput{ApplicationName: aws.String(application),
			Revision: &cdtypes.RevisionLocation{RevisionType: cdtypes.RevisionLocationTypeAppSpecContent,
				AppSpecContent: &cdtypes.AppSpecContent{Sha256: aws.String(sha256)}}})
	var gone *cdtypes.RevisionDoesNotExistException
	if errors.As(err, &gone) || isAbsent(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the AppSpec of application %s: %w", application, sluice.Inner(err))
	}
	if out.Revision == nil || out.Revision.AppSpecContent == nil {
		return "", nil
	}
	arn, _, err := appspec.Read(aws.ToString(out.Revision.AppSpecContent.Content))
	if err != nil {
		return "", &sluice.Error{Op: "read the AppSpec of application " + application, Err: err}
	}
	return arn, nil
}

// RunningDeployment returns the id of the group's deployment that has not ended; empty if there is
// none.
func (h Client) RunningDeployment(ctx context.Context, g Group) (string, error) {
	ids, err := h.listDeployments(ctx, &g, runningStatuses())
	if err != nil || len(ids) == 0 {
		return "", err
	}
	return ids[0], nil
}

// RunningOfService returns the id of the running deployment of a service, whatever its group; empty
// if there is none. It reads the running deployments of the account, which are fewer than all
// groups.
func (h Client) RunningOfService(ctx context.Context, cluster, service string) (string, error) {
	ids, err := h.listDeployments(ctx, nil, runningStatuses())
	if err != nil {
		return "", err
	}
	all, err := h.readDeployments(ctx, ids)
	if err != nil {
		return "", err
	}
	groups, err := h.servicesOfGroups(ctx, all)
	for _, d := range all {
		if groups[Group{d.Application, d.Group}] == serviceKey(cluster, service) {
			return d.ID, nil
		}
	}
	return "", err
}

// servicesOfGroups returns the service of the group of each deployment, as "<cluster>/<service>".
// It makes one call per application.
func (h Client) servicesOfGroups(ctx context.Context, all []*verdict.CodeDeployment) (map[Group]string, error) {
	names, found := map[string][]string{}, map[Group]string{}
	for _, d := range all {
		if !slices.Contains(names[d.Application], d.Group) {
			names[d.Application] = append(names[d.Application], d.Group)
		}
	}
	for _, application := range slices.Sorted(maps.Keys(names)) {
		groups, err := h.readGroups(ctx, application, names[application])
		if err != nil && !isAbsent(err) {
			return found, fmt.Errorf("read the deployment groups of %s: %w", application, sluice.Inner(err))
		}
		for _, s := range groups {
			found[s.Group] = s.ownerKey()
		}
	}
	return found, nil
}

// batchDeployments is the maximum number of ids per BatchGetDeployments call (CodeDeploy API
// Reference).
const batchDeployments = 25

// readDeployments reads deployments and omits those that are not of ECS.
func (h Client) readDeployments(ctx context.Context, ids []string) ([]*verdict.CodeDeployment, error) {
	var all []*verdict.CodeDeployment
	for some := range slices.Chunk(ids, batchDeployments) {
		out, err := h.API.BatchGetDeployments(ctx, &awscd.BatchGetDeploymentsInput{DeploymentIds: some})
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", sluice.Plural(len(some), "deployment"), sluice.Inner(err))
		}
		for _, i := range out.DeploymentsInfo {
			if i.ComputePlatform == cdtypes.ComputePlatformEcs {
				all = append(all, newDeployment(i))
			}
		}
	}
	return all, nil
}

// listDeployments returns the ids of deployments of a group or of the account, newest first as AWS
// lists them.
func (h Client) listDeployments(ctx context.Context, g *Group, statuses []cdtypes.DeploymentStatus) ([]string, error) {
	in := &awscd.ListDeploymentsInput{IncludeOnlyStatuses: statuses}
	of := "the account"
	if g != nil {
		in.ApplicationName, in.DeploymentGroupName, of = aws.String(g.Application), aws.String(g.Name), g.String()
	}
	var all []string
	for {
		out, err := h.API.ListDeployments(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("list the deployments of %s: %w", of, sluice.Inner(err))
		}
		all = append(all, out.Deployments...)
		if in.NextToken = out.NextToken; aws.ToString(in.NextToken) == "" {
			return all, nil
		}
	}
}

// ConsoleURL returns the page of a deployment in the AWS console.
func ConsoleURL(region, id string) string {
	return fmt.Sprintf("%s/codesuite/codedeploy/deployments/%s?region=%s", ConsoleAddress(region), id, region)
}

// ConsoleAddress returns the address of the AWS console of a Region.
func ConsoleAddress(region string) string {
	console := "console.aws.amazon.com"
	switch {
	case strings.HasPrefix(region, "cn-"):
		console = "console.amazonaws.cn"
	case strings.HasPrefix(region, "us-gov-"):
		console = "console.amazonaws-us-gov.com"
	}
	return fmt.Sprintf("https://%s.%s", region, console)
}
