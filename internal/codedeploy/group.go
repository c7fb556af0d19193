package codedeploy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// Client is the client for CodeDeploy in one account and Region.
type Client struct {
	API *awscd.Client
	// Confirm waits before a second read, which confirms that a deployment does not exist. If
	// Confirm is nil, one read is enough.
	Confirm func(context.Context) error
}

// Group names a deployment group.
type Group struct{ Application, Name string }

// String returns "<application>/<group>", the name of the group in plans.
func (g Group) String() string { return g.Application + "/" + g.Name }

// PastDeployment is a deployment that the group reports as its last one.
type PastDeployment struct{ ID, Status string }

// Ended reports whether the deployment has ended, or there is none.
func (p PastDeployment) Ended() bool {
	return p.ID == "" || !slices.Contains(runningStatuses(), cdtypes.DeploymentStatus(p.Status))
}

// runningStatuses returns the statuses of deployments that have not ended.
func runningStatuses() []cdtypes.DeploymentStatus {
	return []cdtypes.DeploymentStatus{cdtypes.DeploymentStatusCreated, cdtypes.DeploymentStatusQueued,
		cdtypes.DeploymentStatusInProgress,
		cdtypes.DeploymentStatusBaking, cdtypes.DeploymentStatusReady}
}

// GroupSettings are the settings of a deployment group, as AWS returns them.
type GroupSettings struct {
	Group
	Cluster, Service       string   // names
	Config                 string   // deployment configuration
	TargetGroups           []string // two names
	Listener, TestListener string   // ARNs
	RollbackEvents         []string // nil: it does not roll back by itself
	Alarms                 []string // nil: no alarm is monitored
	Ready                  time.Duration
	Terminate              time.Duration
	KeepBlue               bool
	Last, LastSucceeded    PastDeployment
	LastRevision           string // SHA-256 of the AppSpec of LastSucceeded; empty: not known
}

// ownerKey returns "<cluster>/<service>".
func (s GroupSettings) ownerKey() string { return serviceKey(s.Cluster, s.Service) }

func serviceKey(cluster, service string) string {
	return cmp.Or(sluice.ARNName(cluster), "default") + "/" + sluice.ARNName(service)
}

// newSettings returns the settings of an ECS deployment group; ok is false for any other group.
func newSettings(g cdtypes.DeploymentGroupInfo) (s GroupSettings, ok bool) {
	if len(g.EcsServices) == 0 {
		return s, false
	}
	s = GroupSettings{Group: Group{aws.ToString(g.ApplicationName), aws.ToString(g.DeploymentGroupName)},
		Config:         aws.ToString(g.DeploymentConfigName),
		Cluster:        sluice.ARNName(aws.ToString(g.EcsServices[0].ClusterName)),
		Service:        sluice.ARNName(aws.ToString(g.EcsServices[0].ServiceName)),
		RollbackEvents: eventsOf(g.AutoRollbackConfiguration), Alarms: alarmsOf(g.AlarmConfiguration),
		Last: newPast(g.LastAttemptedDeployment), LastSucceeded: newPast(g.LastSuccessfulDeployment),
		LastRevision: hashOf(g.TargetRevision)}
	s.Ready, s.Terminate, s.KeepBlue = waitTimes(g.BlueGreenDeploymentConfiguration)
	s.setRoutes(g.LoadBalancerInfo)
	return s, true
}

func (s *GroupSettings) setRoutes(info *cdtypes.LoadBalancerInfo) {
	if info == nil || len(info.TargetGroupPairInfoList) == 0 {
		return
	}
	pair := info.TargetGroupPairInfoList[0]
	for _, g := range pair.TargetGroups {
		s.TargetGroups = append(s.TargetGroups, aws.ToString(g.Name))
	}
	s.Listener, s.TestListener = firstListener(pair.ProdTrafficRoute), firstListener(pair.TestTrafficRoute)
}

func firstListener(r *cdtypes.TrafficRoute) string {
	if r == nil || len(r.ListenerArns) == 0 {
		return ""
	}
	return r.ListenerArns[0]
}

func newPast(d *cdtypes.LastDeploymentInfo) PastDeployment {
	if d == nil {
		return PastDeployment{}
	}
	return PastDeployment{aws.ToString(d.DeploymentId), string(d.Status)}
}

func eventsOf(c *cdtypes.AutoRollbackConfiguration) []string {
	if c == nil || !c.Enabled {
		return nil
	}
	var all []string
	for _, e := range c.Events {
		all = append(all, string(e))
	}
	return all
}

func alarmsOf(c *cdtypes.AlarmConfiguration) []string {
	if c == nil || !c.Enabled {
		return nil
	}
	var all []string
	for _, a := range c.Alarms {
		all = append(all, aws.ToString(a.Name))
	}
	return all
}

// waitTimes returns how long a deployment stays ready before it is stopped, and how long the
// original task set is kept. ready is 0 if the deployment continues by itself.
func waitTimes(c *cdtypes.BlueGreenDeploymentConfiguration) (ready, terminate time.Duration, keep bool) {
	if c == nil {
		return 0, 0, false
	}
	if r := c.DeploymentReadyOption; r != nil && r.ActionOnTimeout == cdtypes.DeploymentReadyActionStopDeployment {
		ready = time.Duration(r.WaitTimeInMinutes) * time.Minute
	}
	if t := c.TerminateBlueInstancesOnDeploymentSuccess; t != nil {
		terminate, keep = time.Duration(t.TerminationWaitTimeInMinutes)*time.Minute,
			t.Action == cdtypes.InstanceActionKeepAlive
	}
	return ready, terminate, keep
}

func hashOf(r *cdtypes.RevisionLocation) string {
	switch {
	case r == nil:
		return ""
	case r.AppSpecContent != nil:
		return aws.ToString(r.AppSpecContent.Sha256)
	case r.String_ != nil:
		return aws.ToString(r.String_.Sha256)
	}
	return ""
}

// ReadGroup reads a deployment group by its name and rejects a group of another service. The error
// is of kind NotFound if there is no such group.
func (h Client) ReadGroup(ctx context.Context, g Group, cluster, service string) (GroupSettings, error) {
	all, err := h.readGroups(ctx, g.Application, []string{g.Name})
	var missing *cdtypes.ApplicationDoesNotExistException
	if errors.As(err, &missing) {
		names, _ := h.listApplications(ctx) // a denial only leaves the names out
		return GroupSettings{}, missingName("find CodeDeploy's application", g.Application, g.Application, "applicationName",
			"CodeDeploy has no such application in this account and Region", names,
			"check codedeploy.applicationName, and the Region; sluice creates no applications")
	}
	if err != nil {
		return GroupSettings{}, fmt.Errorf("find deployment group %s: %w", g, sluice.Inner(err))
	}
	if len(all) == 0 {
		var names []string
		groups, _ := h.listGroups(ctx, g.Application) // a denial only leaves the names out
		for _, s := range groups {
			names = append(names, s.Name)
		}
		return GroupSettings{}, missingName("find deployment group", g.String(), g.Name, "deploymentGroupName",
			"the application has no such deployment group of an ECS service", names,
			"check codedeploy.deploymentGroupName; sluice creates no deployment groups")
	}
	if have := all[0]; have.ownerKey() != serviceKey(cluster, service) {
		return GroupSettings{}, &sluice.Error{Op: "use deployment group " + g.String(),
			Resource: serviceKey(cluster, service), Kind: sluice.Conflict,
			Err:  fmt.Errorf("it deploys service %s", have.ownerKey()),
			Next: "name the deployment group of this service, or omit codedeploy: sluice then finds the group"}
	}
	return all[0], nil
}

// missingName returns the error of a name of the file that does not exist. It names those that do, and the one that was
// probably meant.
func missingName(op, resource, name, key, why string, names []string, next string) error {
	if len(names) > 0 {
		why += "; there is " + definition.ListNames(names)
	}
	if near := definition.Nearest(name, names); near != "" {
		next = "correct codedeploy." + key + ": " + near + " exists"
	}
	return &sluice.Error{Op: op, Resource: resource, Kind: sluice.NotFound, Err: errors.New(why), Next: next}
}

// batchGroups is the maximum number of names per call of BatchGetDeploymentGroups and
// BatchGetApplications (CodeDeploy API Reference).
const batchGroups = 100

// readGroups reads the groups of an application that deploy ECS services.
func (h Client) readGroups(ctx context.Context, application string, names []string) ([]GroupSettings, error) {
	var all []GroupSettings
	for batch := range slices.Chunk(names, batchGroups) {
		out, err := h.API.BatchGetDeploymentGroups(ctx,
			&awscd.BatchGetDeploymentGroupsInput{ApplicationName: aws.String(application), DeploymentGroupNames: batch})
		if err != nil {
			return nil, err
		}
		for _, g := range out.DeploymentGroupsInfo {
			if s, ok := newSettings(g); ok {
				all = append(all, s)
			}
		}
	}
	return all, nil
}
