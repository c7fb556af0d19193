package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/view"
)

// Schema names the shape of a [Plan] in JSON.
const Schema = "sluice.plan/1"

// Plan is a pipeline applied to the current state of AWS. It is complete: a stage needs no file in
// addition to it. A resumed deployment therefore does the same even if the files changed.
type Plan struct {
	Schema      string          `json:"schema"`
	Application string          `json:"application"`
	Account     string          `json:"account"`
	Region      string          `json:"region"`
	Role        string          `json:"role,omitempty"` // that the files let sluice assume
	Cluster     string          `json:"cluster"`        // name
	Service     string          `json:"service"`
	Access      sluice.Access   `json:"access"`
	Controller  string          `json:"controller"`        // ECS, CODE_DEPLOY or EXTERNAL
	Hosting     appfile.Hosting `json:"hosting,omitempty"` // where the canary runs; empty: there is none
	// of ECS, other than ROLLING: ECS shifts the traffic itself
	Strategy string `json:"strategy,omitempty"`
	Force    bool   `json:"force,omitempty"` // a new deployment even if nothing changes
	// a task without a service: Service is "family:<family>", and there is no controller
	Standalone bool `json:"standalone,omitempty"`

	From      string   `json:"from,omitempty"`    // family:revision that serves; empty on a first deployment
	To        string   `json:"to"`                // family:revision, or the family if it will be registered
	Serving   *Serving `json:"serving,omitempty"` // the PRIMARY revision and its task counts; nil: none
	QuickSync bool     `json:"quickSync"`
	// deployment, or value of the claim tag, whose claim may be taken over
	TakeOver string `json:"takeOver,omitempty"`

	Stages       []Stage `json:"stages"`
	Rollback     Stage   `json:"rollback"`
	AutoRollback bool    `json:"autoRollback"`
	// Gates judge the canary in every stage in which it gets requests.
	Gates []appfile.Gate `json:"gates,omitempty"`
	// OnOutsideChange says what follows a change made outside this deployment; empty is stop.
	OnOutsideChange sluice.OnOutside `json:"onOutsideChange,omitempty"`
	// OnOtherTargets says what follows targets of other owners in the two target groups; empty is
	// stop.
	OnOtherTargets sluice.OnTargets `json:"onOtherTargets,omitempty"`
	// PreviousSet is the id of the task set that served before an interrupted deployment, which
	// left it running. It is empty if there is none.
	PreviousSet string `json:"former,omitempty"`
	Recreate    bool   `json:"recreate,omitempty"` // a sync stops the old tasks first

	ProgressDeadline time.Duration `json:"progressDeadline"` // nanoseconds
	Bake             time.Duration `json:"bake,omitempty"`
	Timeout          time.Duration `json:"timeout,omitempty"`

	Task     json.RawMessage `json:"taskDefinition"`     // request shape
	Digest   string          `json:"digest"`             // of the task definition, see definition.Digest
	Redacted bool            `json:"redacted,omitempty"` // see [Plan.ForJournal]
	// Hidden are values of the definitions that lookups have read and that are secret.
	Hidden     []string        `json:"-"`
	Definition json.RawMessage `json:"serviceDefinition"` // request shape
	// ServiceRedacted is the digest of the complete service definition. It is set in a plan whose
	// service definition lost values.
	ServiceRedacted string   `json:"serviceRedacted,omitempty"`
	Primary         *Group   `json:"primary,omitempty"`
	Canary          *Group   `json:"canary,omitempty"`
	ListenerRules   []string `json:"listenerRules,omitempty"`
	Listeners       []string `json:"listeners,omitempty"` // ARNs
	// the canary group is added to rules that forward to the primary alone
	Extends bool `json:"extends,omitempty"`
	// type of the load balancer if it is not an Application Load Balancer
	Balancer BalancerType  `json:"loadBalancerType,omitempty"`
	Drain    time.Duration `json:"drain,omitempty"`    // longest deregistration delay of the two groups
	Registry *Registry     `json:"registry,omitempty"` // of a service that callers resolve with Cloud Map
	// Names are the registries in which ECS registers the tasks, and whose shares sluice does not manage.
	Names []Registry `json:"names,omitempty"`

	// Callers is where callers of the service were sent when the plan was made, and Scope what was read. They are zero
	// for a service without target groups.
	Callers view.Traffic `json:"callers,omitzero"`
	Scope   view.Scope   `json:"callersScope,omitzero"`
	// OnUnhealthyRoute says what follows a rule that sends requests to a group without healthy targets.
	OnUnhealthyRoute sluice.OnRoute `json:"onUnhealthyRoute,omitempty"`
	// AloneFrom is the number of the stage from which on callers of the Cloud Map name get only the canary, because no
	// other version was registered under it; 0: another version was.
	AloneFrom int `json:"aloneFrom,omitempty"`

	KeepDefinitions int         `json:"keepTaskDefinitions,omitempty"` // how many of the newest; 0: all
	Scaling         *Scaling    `json:"scaling,omitempty"`             // nil: auto scaling is not changed
	CodeDeploy      *CodeDeploy `json:"codeDeploy,omitempty"`          // controller CODE_DEPLOY

	Returns bool `json:"returns,omitempty"` // it deploys the version that served before, for a rollback
	// ReturnsTo is the revision that a person named for a rollback: it may also be a new choice, so that Returns is false.
	ReturnsTo string `json:"returnsTo,omitempty"`
	// AsksNoTasks: the files or the flags ask for a desired count of 0: that no task shows whether the revision works
	// is then no failure.
	AsksNoTasks bool `json:"asksNoTasks,omitempty"`
	// Failing is that of [AWSState].
	Failing  string         `json:"failing,omitempty"`
	Idle     bool           `json:"idle,omitempty"`    // the desired count is 0, so success cannot be confirmed
	Current  *Current       `json:"current,omitempty"` // nil: no verdict, because the files ask for another revision
	Changes  []Change       `json:"changes,omitempty"`
	Finish   []sluice.Write `json:"finish,omitempty"` // after the last stage: the claim is released
	Warnings []string       `json:"warnings,omitempty"`
	// DropTags are keys of tags of the service that an earlier file set; a success removes them.
	DropTags []string `json:"dropTags,omitempty"`
	// MovedTags are the warnings about tags that name another image than the tasks run.
	MovedTags []string `json:"movedTags,omitempty"`
	Notes     []string `json:"notes,omitempty"`
}

// Group is the target group of one variant.
type Group struct {
	ARN       string `json:"arn"`
	Container string `json:"container"`
	Port      int32  `json:"port"`
	// Drain is its deregistration delay; 0: it was not read.
	Drain time.Duration `json:"drain,omitempty"`
}

// OptionalARN returns the ARN of the group; empty without a group.
func (g *Group) OptionalARN() string {
	if g == nil {
		return ""
	}
	return g.ARN
}

// Change is one difference between the files and what runs.
type Change struct {
	Of   string `json:"of"` // "task definition", "service", "traffic", "task sets"
	Path string `json:"path"`
	Have string `json:"have"`
	Want string `json:"want"`
	// Kind says what the change does. The place that makes a change sets it.
	Kind ChangeKind `json:"kind"`
}

// ChangesOf returns the differences of a resource as changes.
func ChangesOf(of string, diffs []definition.Difference) (all []Change) {
	for _, d := range diffs {
		kind := Alters
		switch {
		case d.Added:
			kind = Adds
		case d.Removed:
			kind = Removes
		}
		all = append(all, Change{Of: of, Path: d.Path, Have: d.Have, Want: d.Want, Kind: kind})
	}
	return all
}

// Member returns the top-level member of the definition that the change is in.
func (c Change) Member() string { return definition.TopLevelMember(c.Path) }

// ChangeKind is what a change does to a member or a resource.
type ChangeKind string

// The kinds of changes.
const (
	Adds    ChangeKind = "add"
	Alters  ChangeKind = "change"
	Removes ChangeKind = "remove"
)

// Stage is one stage with its options and the writes that it may make.
type Stage struct {
	Index   int           `json:"index"`
	Name    string        `json:"name"`
	Desc    string        `json:"desc,omitempty"`
	Timeout time.Duration `json:"timeout,omitempty"` // hard limit

	Scale int `json:"scale,omitempty"` // ECS_CANARY_ROLLOUT, percent
	// ECS_TRAFFIC_ROUTING; ECS_CANARY_ROLLOUT of a canary that is registered as soon as it is healthy
	Weights  *sluice.Weights `json:"weights,omitempty"`
	Exact    bool            `json:"exact,omitempty"`    // ECS_TRAFFIC_ROUTING: extra canary tasks for the exact share
	Share    *Share          `json:"share,omitempty"`    // what Weights achieve by counts
	KeepOld  bool            `json:"keepOld,omitempty"`  // ECS_PRIMARY_ROLLOUT
	Recreate bool            `json:"recreate,omitempty"` // ECS_SYNC
	// ECS_SYNC: ARN of the service deployment that is stopped first
	Stop     string        `json:"stop,omitempty"`
	Duration time.Duration `json:"duration,omitempty"` // WAIT, ANALYSIS
	// Gates judge the canary while the stage waits.
	Gates     []appfile.Gate `json:"gates,omitempty"`
	Approvers []string       `json:"approvers,omitempty"`
	Approvals int            `json:"approvals,omitempty"` // WAIT_APPROVAL: how many approvals are required
	Task      *Task          `json:"task,omitempty"`      // RUN_TASK

	Routes []Route        `json:"routes,omitempty"` // rules and their weights after the stage
	Writes []sluice.Write `json:"writes,omitempty"`

	Place string `json:"-"` // "sluice.yaml:27" in the application file; empty: not there, or the plan was saved
}

// PlanOp names the work of an error that refuses the stage: "sluice.yaml:27: plan stage 2 WAIT".
func (s Stage) PlanOp() string {
	op := fmt.Sprintf("plan stage %d %s", s.Index+1, s.Name)
	if s.Place != "" {
		op = s.Place + ": " + op
	}
	return op
}

// Route is a rule with the weights that a stage sets on it.
type Route struct {
	Rule    string         `json:"rule"` // ARN
	Name    string         `json:"name"`
	Weights sluice.Weights `json:"weights"`
}

// MayWrite reports whether the stage may make the write.
func (s Stage) MayWrite(w sluice.Write) bool {
	for _, x := range s.Writes {
		if x == w {
			return true
		}
	}
	return false
}

// CreatesService reports whether the plan was made for a service that did not exist.
func (p *Plan) CreatesService() bool {
	create := sluice.Write{Operation: "ecs:CreateService", Resource: p.ServiceResource()}
	return slices.ContainsFunc(p.Stages, func(s Stage) bool { return s.MayWrite(create) })
}

// HasChanges reports whether deploying would change anything.
func (p *Plan) HasChanges() bool { return len(p.Changes) > 0 }

// Names that plans use for resources that do not exist yet.
const (
	CanarySet          = "task set of canary"
	NewPrimarySet      = "new task set of primary"
	PreviousPrimarySet = "old task set of primary"
	RestoredSet        = "restored task set of primary"
	OtherSets          = "other task sets of ours"
	ExternalSets       = "task sets of others in our target groups"
	ServingSet         = "task set that is PRIMARY"
	OwnDeployment      = "service deployment of ours"
	OwnShift           = "CodeDeploy deployment of ours"
	ReturnShift        = "CodeDeploy deployment that returns"
)

// Stage returns the stage at index; the rollback is at len(Stages).
func (p *Plan) Stage(index int) Stage {
	if index == len(p.Stages) {
		return p.Rollback
	}
	return p.Stages[index]
}

func (p *Plan) ServiceResource() string { return p.Cluster + "/" + p.Service }

// FormatDuration rounds a duration for people.
func FormatDuration(d time.Duration) string { return sluice.Duration(d).String() }

func (s *Stage) AddWrite(operation string, resources ...string) {
	for _, r := range resources {
		if w := (sluice.Write{Operation: operation, Resource: r}); !s.MayWrite(w) {
			s.Writes = append(s.Writes, w)
		}
	}
}
