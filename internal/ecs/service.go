package ecs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
)

// ReadLag is how long AWS's answers may lag behind a write (Amazon ECS API Reference, "eventual
// consistency"; seconds are observed).
const ReadLag = 6 * time.Second

// Service is the client for one service.
type Service struct {
	API     *awsecs.Client
	Cluster string // name or ARN
	Name    string
	// Confirm waits before a second read, which confirms that the service does not exist. If
	// Confirm is nil, one read is enough.
	Confirm func(context.Context) error
}

// ServiceState is the state of a service in one read.
type ServiceState struct {
	ARN        string            `json:"-"`
	Status     string            `json:"status"`               // ACTIVE, DRAINING, INACTIVE
	Controller string            `json:"controller,omitempty"` // ECS, CODE_DEPLOY, EXTERNAL
	Desired    int               `json:"desired"`
	Running    int               `json:"running"`
	Pending    int               `json:"pending"`
	TaskSets   []sluice.TaskSet  `json:"-"` // newest first, as AWS lists them; DRAINING ones included
	Tags       map[string]string `json:"-"`
	Raw        ecstypes.Service  `json:"-"` // the complete response, to compare with the file
}

// ServiceRead is a read of a service with the time at which it was sent. Verdicts, stages, `sluice
// status` and the live state of PipeCD judge the same State, so they can pass a read on.
type ServiceRead struct {
	State  *ServiceState // nil: AWS knows no such service
	SentAt time.Time     // zero: never read
}

// Resource returns the name of the service in plans: "<cluster>/<service>".
func (s Service) Resource() string { return sluice.ARNName(s.Cluster) + "/" + s.Name }

// Observe reads the service. It returns nil if the service does not exist. If Confirm is set, two
// reads must agree that the service does not exist or is being deleted, because one response may be
// outdated.
func (s Service) Observe(ctx context.Context) (*ServiceState, error) {
	all, err := s.observe(ctx, s.Name)
	return all[0], err
}

// ObserveWith is Observe, and reads another service of the cluster in the same call.
func (s Service) ObserveWith(ctx context.Context, other string) (own, beside *ServiceState, err error) {
	all, err := s.observe(ctx, s.Name, other)
	return all[0], all[1], err
}

// observe reads services in one call. The result has as many entries as names.
func (s Service) observe(ctx context.Context, names ...string) ([]*ServiceState, error) {
	all, err := s.readOnce(ctx, names)
	if err != nil || all[0].IsActive() || s.Confirm == nil {
		return all, err
	}
	if err := s.Confirm(ctx); err != nil {
		return make([]*ServiceState, len(names)), err
	}
	return s.readOnce(ctx, names)
}

// readOnce reads services once.
func (s Service) readOnce(ctx context.Context, names []string) ([]*ServiceState, error) {
	all := make([]*ServiceState, len(names))
	out, err := s.API.DescribeServices(ctx, &awsecs.DescribeServicesInput{
		Cluster: aws.String(s.Cluster), Services: names,
		Include: []ecstypes.ServiceField{ecstypes.ServiceFieldTags}})
	if err != nil {
		return all, fmt.Errorf("read service %s: %w", s.Resource(), sluice.Inner(err))
	}
	for _, x := range out.Services {
		isOf := func(name string) bool { return sluice.ARNName(name) == aws.ToString(x.ServiceName) }
		if i := slices.IndexFunc(names, isOf); i >= 0 {
			all[i] = newState(x)
		}
	}
	for _, f := range out.Failures {
		if why := aws.ToString(f.Reason); why != "" && why != "MISSING" {
			return all, &sluice.Error{Op: "read service", Resource: s.Resource(), Kind: sluice.Unreachable,
				Err: fmt.Errorf("AWS reports %s", why)}
		}
	}
	return all, nil
}

func newState(s ecstypes.Service) *ServiceState {
	l := &ServiceState{
		ARN: aws.ToString(s.ServiceArn), Status: aws.ToString(s.Status), Controller: "ECS",
		Desired: int(s.DesiredCount), Running: int(s.RunningCount), Pending: int(s.PendingCount),
		Tags: tagMap(s.Tags), Raw: s,
	}
	if s.DeploymentController != nil {
		l.Controller = string(s.DeploymentController.Type)
	}
	for _, ts := range s.TaskSets {
		l.TaskSets = append(l.TaskSets, newTaskSet(ts))
	}
	return l
}

func newTaskSet(ts ecstypes.TaskSet) sluice.TaskSet {
	t := sluice.TaskSet{
		ID: aws.ToString(ts.Id), ARN: aws.ToString(ts.TaskSetArn), Status: aws.ToString(ts.Status),
		Revision: sluice.RevisionOf(aws.ToString(ts.TaskDefinition)), ExternalID: aws.ToString(ts.ExternalId),
		Desired: int(ts.ComputedDesiredCount), Pending: int(ts.PendingCount), Running: int(ts.RunningCount),
		Steady: ts.StabilityStatus == ecstypes.StabilityStatusSteadyState, CreatedAt: aws.ToTime(ts.CreatedAt),
		Tags: tagMap(ts.Tags),
	}
	if ts.Scale != nil {
		t.Scale = ts.Scale.Value
	}
	if len(ts.LoadBalancers) > 0 {
		t.TargetGroup = aws.ToString(ts.LoadBalancers[0].TargetGroupArn)
	}
	return t
}

func tagMap(tags []ecstypes.Tag) map[string]string {
	m := make(map[string]string, len(tags))
	for _, t := range tags {
		m[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return m
}

// Primary returns the task set with status PRIMARY, or nil.
func (l *ServiceState) Primary() *sluice.TaskSet {
	return l.findSet(func(ts sluice.TaskSet) bool { return ts.Status == "PRIMARY" })
}

// Refreshed returns a later read of the service, or this one if another revision serves in the later: what was found out
// about a revision before stays true. An old answer may name the target group of a former PRIMARY task set.
func (l *ServiceState) Refreshed(later *ServiceState) *ServiceState {
	if l != nil && (later == nil || later.Serving() != l.Serving()) {
		return l
	}
	return later
}

// Serving returns the revision of the PRIMARY task set or, with controller ECS, of the service. It
// returns "" if there is none.
func (l *ServiceState) Serving() string {
	if p := l.Primary(); p != nil {
		return p.Revision
	}
	if l.Controller == "EXTERNAL" {
		return ""
	}
	return sluice.RevisionOf(aws.ToString(l.Raw.TaskDefinition))
}

// TaskSet returns the task set with that id, or nil.
func (l *ServiceState) TaskSet(id string) *sluice.TaskSet {
	return l.findSet(func(ts sluice.TaskSet) bool { return ts.ID == id })
}

// CreatedByAction returns the task set that carries the action's ID, or nil. A task set that is
// being deleted is still listed, as DRAINING.
func (l *ServiceState) CreatedByAction(by sluice.ActionID) *sluice.TaskSet {
	return l.findSet(func(ts sluice.TaskSet) bool { return ts.ExternalID == string(by) })
}

func (l *ServiceState) findSet(f func(sluice.TaskSet) bool) *sluice.TaskSet {
	if i := slices.IndexFunc(l.TaskSets, f); i >= 0 {
		return &l.TaskSets[i]
	}
	return nil
}

// Create creates the service with deployment controller EXTERNAL. Launch type, network and
// registries belong to the task set instead (ECS Developer Guide, "Deploy Amazon ECS services using
// a third-party controller").
func (s Service) Create(ctx context.Context, act sluice.Act, id sluice.ActionID, want awsecs.CreateServiceInput,
	tags map[string]string) error {
	in := externalInput(want)
	in.Cluster, in.ServiceName, in.ClientToken = aws.String(s.Cluster), aws.String(s.Name), aws.String(id.Token())
	in.Tags = mergeTags(in.Tags, tags)
	if in.DesiredCount == nil {
		in.DesiredCount = aws.Int32(1)
	}
	w := sluice.Write{Operation: "ecs:CreateService", Resource: s.Resource()}
	return act(ctx, sluice.Attempt{Action: "create service", Planned: w, Actual: w},
		func(ctx context.Context) (string, error) {
			out, err := s.API.CreateService(ctx, &in)
			if err != nil || out.Service == nil {
				return "", err
			}
			return aws.ToString(out.Service.Status), nil
		})
}

// externalInput returns the part of a service definition that CreateService accepts with controller
// EXTERNAL.
func externalInput(want awsecs.CreateServiceInput) awsecs.CreateServiceInput {
	return awsecs.CreateServiceInput{
		DesiredCount: want.DesiredCount, DeploymentConfiguration: want.DeploymentConfiguration,
		DeploymentController: &ecstypes.DeploymentController{Type: ecstypes.DeploymentControllerTypeExternal},
		EnableECSManagedTags: want.EnableECSManagedTags, EnableExecuteCommand: want.EnableExecuteCommand,
		HealthCheckGracePeriodSeconds: want.HealthCheckGracePeriodSeconds,
		PlacementConstraints:          want.PlacementConstraints,
		PlacementStrategy:             want.PlacementStrategy, PropagateTags: want.PropagateTags,
		Role:               nonEmpty(want.Role),
		SchedulingStrategy: want.SchedulingStrategy, Tags: want.Tags,
	}
}

func nonEmpty(s *string) *string {
	if aws.ToString(s) == "" {
		return nil
	}
	return s
}

func mergeTags(have []ecstypes.Tag, more map[string]string) []ecstypes.Tag {
	out := slices.Clone(have)
	for _, k := range sortedKeys(more) {
		out = append(out, ecstypes.Tag{Key: aws.String(k), Value: aws.String(more[k])})
	}
	return out
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Tag sets tags on the service.
func (s Service) Tag(ctx context.Context, act sluice.Act, action, arn string, tags map[string]string) error {
	planned := sluice.Write{Operation: "ecs:TagResource", Resource: s.Resource()}
	actual := sluice.Write{Operation: "ecs:TagResource", Resource: arn}
	return act(ctx, sluice.Attempt{Action: action, Planned: planned, Actual: actual},
		func(ctx context.Context) (string, error) {
			_, err := s.API.TagResource(ctx, &awsecs.TagResourceInput{ResourceArn: aws.String(arn),
				Tags: mergeTags(nil, tags)})
			return strings.Join(sortedKeys(tags), ", "), err
		})
}

// Untag removes tags from the service. A service that does not exist is no error.
func (s Service) Untag(ctx context.Context, act sluice.Act, action, arn string, keys ...string) error {
	planned := sluice.Write{Operation: "ecs:UntagResource", Resource: s.Resource()}
	actual := sluice.Write{Operation: "ecs:UntagResource", Resource: arn}
	return act(ctx, sluice.Attempt{Action: action, Planned: planned, Actual: actual},
		func(ctx context.Context) (string, error) {
			_, err := s.API.UntagResource(ctx, &awsecs.UntagResourceInput{ResourceArn: aws.String(arn), TagKeys: keys})
			var gone *ecstypes.ServiceNotFoundException
			if errors.As(err, &gone) {
				err = nil
			}
			return strings.Join(keys, ", "), err
		})
}
