package plan

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/view"
)

// AWSState is the current state in AWS, as far as a plan depends on it.
type AWSState struct {
	Account, Region string

	Service  *ecstypes.Service // nil: there is none
	Services []string          // names of the services of the cluster, if Service is none of them
	TaskSets []sluice.TaskSet  // of the service
	// ids of task sets that sluice did not create and that ECS_SYNC removes nevertheless
	Left       []string
	Beside     *ecstypes.Service        // the canary service with hosting services; nil: there is none
	Definition *ecstypes.TaskDefinition // of the PRIMARY revision; nil: there is none
	// DefinitionTags are the tags of Definition, which AWS returns separately.
	DefinitionTags []ecstypes.Tag
	// Identical is the revision that equals the file's: the PRIMARY one if it is ACTIVE, otherwise the newest of the
	// family; empty: neither
	Identical string
	// Identical for each step with its own definition, by "before/<name>" and "after/<name>"
	Steps map[string]string
	Claim string            // value of the claim tag if a deployment owns the service now
	Lost  Claim             // the parsed claim tag, expired or not
	Tags  map[string]string // of the service

	Primary, Canary *GroupAttachment // nil: the file names no such group
	Steered         []sluice.Rule    // forward to exactly the two groups of the application
	Extend          []sluice.Rule    // forward to the primary alone
	Marked          []sluice.Rule    // other rules that give weight to the canary group; no deployment writes them
	Unsteered       []sluice.Rule    // other rules that give weight to the primary group; no deployment writes them
	Foreign         []ExternalTarget // in the application's target groups
	RulesErr        error            // why no rule could be chosen

	// Callers is where callers of the service are sent; the zero value: not read, or there is no target group
	Callers view.Traffic
	Scope   view.Scope // of Callers
	// Failing says why the version that serves does not work: "12 tasks stopped: exit code 1 …". Empty: it works, or that
	// was not read.
	Failing string

	Registry  *Registry // named in the file; nil: none, or its shares are not managed
	Strangers []string  // instances in it that neither ECS nor sluice registered
	// LeftRecords is the number of instances in the registry that sluice registered for canaries of
	// the service.
	LeftRecords int
	// Names are the registries of the service whose shares sluice does not manage.
	Names []Registry
	// Name is what callers of the first of Registry and Names resolve, without the versions of the tasks; nil: not read.
	Name       *view.Name
	Neighbours []string // other ECS services, as cluster/service, whose tasks are in it

	Scaling *ScalingState // nil: not read, because the plan does not depend on it

	Problems []Problem // what the checks before a deployment found

	Deployer    *Deployer // deployment group of a service with controller CODE_DEPLOY; nil: none is needed
	DeployerErr error     // why none could be chosen
}

// Problem is something in AWS that a deployment depends on and that is wrong, or could not be read.
type Problem struct {
	Resource string
	Text     string // a sentence without its subject, which is the resource
	Next     string // what to do; empty if it could not be read
	Place    string // where the files name the resource; empty: they do not
	// Level says what follows.
	Level ProblemLevel
	// IsOfPipeline: a deployment without the pipeline does not depend on the resource.
	IsOfPipeline bool
}

// ProblemLevel says what a plan does with a problem.
type ProblemLevel int

// The levels of problems.
const (
	Unread  ProblemLevel = iota // a note: it could not be checked
	Warns                       // a warning: callers may notice it
	Moved                       // a warning: the tag of a running image names another image now
	Refuses                     // AWS would refuse the deployment
)

// ScalingState is the state of the service in Application Auto Scaling.
type ScalingState struct {
	Targets []sluice.Scalable `json:"targets,omitempty"`
	Left    string            `json:"left,omitempty"`   // value of [ScalingTag], if a deployment left it behind
	Denied  string            `json:"denied,omitempty"` // why it could not be read
}

// SilentRule is a rule or the default action of a listener that responds by itself and forwards nothing.
type SilentRule struct {
	Name   string // for users
	ARN    string // of the rule, or of the listener
	Repair string // the command with which it forwards to the group
}

// GroupAttachment describes a target group and the load balancer that it is attached to.
type GroupAttachment struct {
	Name      string
	Balancer  string // ARN; empty: attached to none
	Type      BalancerType
	Protocol  string // of the group
	Check     string // protocol of its health checks
	Target    string // ip, instance
	Sticky    bool   // the load balancer sends a client to the same target
	Drain     time.Duration
	Listeners []string
	Healthy   int
	Targets   int
	// Silent are the rules of its network that respond by themselves, if the group is attached to no load balancer: one of
	// them may have forwarded to it.
	Silent []SilentRule
	// Settings decide how a target is reached and checked, by the words for users.
	Settings map[string]string
}

// PrimarySet returns the task set with status PRIMARY, or nil.
func (l AWSState) PrimarySet() *sluice.TaskSet {
	for i := range l.TaskSets {
		if l.TaskSets[i].Status == "PRIMARY" {
			return &l.TaskSets[i]
		}
	}
	return nil
}

// PrimaryCreatedBy returns the deployment of sluice that created the PRIMARY task set. It is empty
// if there is no such task set or if sluice did not create it.
func (l AWSState) PrimaryCreatedBy() string {
	if ts := l.PrimarySet(); ts != nil && IsSluiceID(ts.ExternalID) {
		return sluice.ActionID(ts.ExternalID).Deployment()
	}
	return ""
}

// ServingRevision returns the PRIMARY revision as family:revision, or "".
func (l AWSState) ServingRevision() string {
	if ts := l.PrimarySet(); ts != nil {
		return ts.Revision
	}
	if l.Definition != nil {
		return sluice.RevisionOf(aws.ToString(l.Definition.TaskDefinitionArn))
	}
	return ""
}

// IsFirstDeployment reports whether no version is running yet.
func (l AWSState) IsFirstDeployment() bool {
	return l.Service == nil || l.ServiceStatus() != "ACTIVE" || l.PrimarySet() == nil && l.Definition == nil
}

// IsNewService reports whether a deployment creates the service.
func (l AWSState) IsNewService() bool { return l.Service == nil || l.ServiceStatus() == "INACTIVE" }

func (l AWSState) ServiceStatus() string {
	if l.Service == nil || l.Service.Status == nil {
		return ""
	}
	return *l.Service.Status
}

// HasTaskSets reports whether there is an ACTIVE service with controller EXTERNAL.
func (l AWSState) HasTaskSets() bool {
	return l.ServiceStatus() == "ACTIVE" && l.Service.DeploymentController != nil &&
		l.Service.DeploymentController.Type == ControllerExternal
}

// WithoutContent returns the state without what no plan needs to be made again: the events of
// services, which are long, and the content of the task definition, which may be secret.
func (l AWSState) WithoutContent() AWSState {
	l.Service, l.Beside = withoutEvents(l.Service), withoutEvents(l.Beside)
	if l.Definition != nil {
		l.Definition = &ecstypes.TaskDefinition{TaskDefinitionArn: l.Definition.TaskDefinitionArn}
	}
	return l
}

func withoutEvents(s *ecstypes.Service) *ecstypes.Service {
	if s == nil {
		return nil
	}
	less := *s
	less.Events = nil
	return &less
}

// WritableRules returns the rules that a deployment may write.
func (l AWSState) WritableRules() []sluice.Rule {
	return append(append([]sluice.Rule(nil), l.Steered...), l.Extend...)
}
