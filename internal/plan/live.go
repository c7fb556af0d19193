package plan

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
)

// Live is what AWS has now, as far as a plan depends on it.
type Live struct {
	Account, Region string

	Service    *ecstypes.Service        // nil: there is none
	TaskSets   []sluice.TaskSet         // of the service
	Left       []string                 // ids of those that no sluice made and ECS_SYNC removes all the same
	Beside     *ecstypes.Service        // the canary's, of a hosting by services; nil: there is none
	Definition *ecstypes.TaskDefinition // that serves; nil: there is none
	Identical  string                   // newest revision of the family if it equals the file's; else empty
	Steps      map[string]string        // the same of the steps' own definitions, by "before/<name>" and "after/<name>"
	Claim      string                   // value of the claim tag, if somebody holds one now
	Lost       Claim                    // what the claim tag says, though it may have run out
	Tags       map[string]string        // of the service

	Primary, Canary *Place          // nil: the file names no such group
	Steered         []sluice.Rule   // forward to exactly our two groups
	Extend          []sluice.Rule   // forward to the primary alone
	Marked          []sluice.Rule   // others that give the canary's group weight: no deployment writes them
	Foreign         []ForeignTarget // in the application's target groups
	RulesErr        error           // why no rule could be chosen

	Registry  *Registry // that the file names; nil: none, or it is not steered
	Strangers []string  // instances in it that are neither ECS's nor ours
	// LeftRecords is how many instances in it sluice registered for canaries of the service.
	LeftRecords int
	Neighbours  []string // other ECS services, as cluster/service, whose tasks are in it

	Scaling *LiveScaling // nil: nobody asked, because nothing depends on it

	Deployer    *Deployer // deployment group of a service with controller CODE_DEPLOY; nil: none is needed
	DeployerErr error     // why none could be chosen
}

// LiveScaling is what Application Auto Scaling has of the service.
type LiveScaling struct {
	Targets []sluice.Scalable `json:"targets,omitempty"`
	Left    string            `json:"left,omitempty"`   // value of [ScalingTag], if a deployment left it behind
	Denied  string            `json:"denied,omitempty"` // why it could not be read
}

// Place is where a target group hangs.
type Place struct {
	Name      string
	Balancer  string // ARN; empty: behind none
	Type      string // application, network
	Target    string // ip, instance
	Drain     time.Duration
	Listeners []string
	Healthy   int
	Targets   int
}

// primary is the task set with status PRIMARY, or nil.
func (l Live) primary() *sluice.TaskSet {
	for i := range l.TaskSets {
		if l.TaskSets[i].Status == "PRIMARY" {
			return &l.TaskSets[i]
		}
	}
	return nil
}

// PrimaryMadeBy is the deployment of sluice that made the PRIMARY task set; empty if none
// did, or there is none.
func (l Live) PrimaryMadeBy() string {
	if ts := l.primary(); ts != nil && Ours(ts.ExternalID) {
		return sluice.ActionID(ts.ExternalID).Deployment()
	}
	return ""
}

// serving is the revision that serves, family:revision, or "".
func (l Live) serving() string {
	if ts := l.primary(); ts != nil {
		return ts.Revision
	}
	if l.Definition != nil {
		return sluice.RevisionOf(aws.ToString(l.Definition.TaskDefinitionArn))
	}
	return ""
}

// first reports whether nothing serves yet.
func (l Live) first() bool {
	return l.Service == nil || l.status() != "ACTIVE" || l.primary() == nil && l.Definition == nil
}

func (l Live) status() string {
	if l.Service == nil || l.Service.Status == nil {
		return ""
	}
	return *l.Service.Status
}

// rules are the rules that a deployment would write.
func (l Live) rules() []sluice.Rule {
	return append(append([]sluice.Rule(nil), l.Steered...), l.Extend...)
}
