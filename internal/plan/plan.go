package plan

import (
	"encoding/json"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
)

// Schema names the shape of a [Plan] in JSON.
const Schema = "sluice.plan/1"

// Plan is a pipeline applied to what AWS has now. It is complete: a stage needs
// no file beside it, so that a resume does the same even if the files changed.
type Plan struct {
	Schema      string          `json:"schema"`
	Application string          `json:"application"`
	Account     string          `json:"account"`
	Region      string          `json:"region"`
	Cluster     string          `json:"cluster"` // name
	Service     string          `json:"service"`
	Access      sluice.Access   `json:"access"`
	Controller  string          `json:"controller"`           // ECS, CODE_DEPLOY or EXTERNAL
	Hosting     appfile.Hosting `json:"hosting,omitempty"`    // where the canary lives; empty: there is none
	Strategy    string          `json:"strategy,omitempty"`   // of ECS, other than ROLLING: ECS shifts the traffic itself
	Force       bool            `json:"force,omitempty"`      // a new deployment even if nothing changes
	Standalone  bool            `json:"standalone,omitempty"` // a task without a service: Service is "family:<family>", and there is no controller

	From      string   `json:"from,omitempty"`    // family:revision that serves; empty on a first deployment
	To        string   `json:"to"`                // family:revision, or the family if it will be registered
	Serving   *Serving `json:"serving,omitempty"` // with how many tasks; nil: nothing serves
	QuickSync bool     `json:"quickSync"`
	TakeOver  string   `json:"takeOver,omitempty"` // deployment, or value of the claim tag, from which the service may be taken

	Stages       []Stage `json:"stages"`
	Rollback     Stage   `json:"rollback"`
	AutoRollback bool    `json:"autoRollback"`
	// OnOutsideChange is what follows a change of somebody else's; empty is stop.
	OnOutsideChange sluice.OnOutside `json:"onOutsideChange,omitempty"`
	// OnOtherTargets is what follows targets of others in our groups; empty is stop.
	OnOtherTargets sluice.OnTargets `json:"onOtherTargets,omitempty"`
	// Former is the id of the task set that served before a deployment that did not
	// end and left it; empty: there is none.
	Former   string `json:"former,omitempty"`
	Recreate bool   `json:"recreate,omitempty"` // a sync stops the old tasks first

	ProgressDeadline time.Duration `json:"progressDeadline"` // nanoseconds
	Timeout          time.Duration `json:"timeout,omitempty"`

	Task       json.RawMessage `json:"taskDefinition"`     // request shape
	Digest     string          `json:"digest"`             // of the task definition, see definition.Digest
	Redacted   bool            `json:"redacted,omitempty"` // see [Plan.Kept]
	Definition json.RawMessage `json:"serviceDefinition"`  // request shape
	// ServiceRedacted is set in a plan whose service definition lost values: the digest
	// of the whole one.
	ServiceRedacted string        `json:"serviceRedacted,omitempty"`
	Primary         *Group        `json:"primary,omitempty"`
	Canary          *Group        `json:"canary,omitempty"`
	Named           []string      `json:"listenerRules,omitempty"`
	Listeners       []string      `json:"listeners,omitempty"` // ARNs
	Extends         bool          `json:"extends,omitempty"`   // the canary group joins rules that hold the primary alone
	Drain           time.Duration `json:"drain,omitempty"`     // longest deregistration delay of the two groups
	Registry        *Registry     `json:"registry,omitempty"`  // of a service that is found by a name

	KeepDefinitions int         `json:"keepTaskDefinitions,omitempty"` // how many of the newest; 0: all
	Scaling         *Scaling    `json:"scaling,omitempty"`             // nil: auto scaling is left alone
	CodeDeploy      *CodeDeploy `json:"codeDeploy,omitempty"`          // controller CODE_DEPLOY

	Idle     bool           `json:"idle,omitempty"`    // the service is to run no task, so that success cannot be shown
	Current  *Current       `json:"current,omitempty"` // nil: not judged, because the files ask for another revision
	Changes  []Change       `json:"changes,omitempty"`
	Finish   []sluice.Write `json:"finish,omitempty"` // after the last stage: the claim is given back
	Warnings []string       `json:"warnings,omitempty"`
	Notes    []string       `json:"notes,omitempty"`
}

// Group is one side of the load balancer.
type Group struct {
	ARN       string `json:"arn"`
	Container string `json:"container"`
	Port      int32  `json:"port"`
}

// Change is one difference between the files and what runs.
type Change struct {
	Of   string `json:"of"` // "task definition", "service", "traffic", "task sets"
	Path string `json:"path"`
	Have string `json:"have"`
	Want string `json:"want"`
}

// Stage is one stage with its options and the writes that it may make.
type Stage struct {
	Index   int           `json:"index"`
	Name    string        `json:"name"`
	Desc    string        `json:"desc,omitempty"`
	Timeout time.Duration `json:"timeout,omitempty"` // hard limit

	Scale     int             `json:"scale,omitempty"`    // ECS_CANARY_ROLLOUT, percent
	Weights   *sluice.Weights `json:"weights,omitempty"`  // ECS_TRAFFIC_ROUTING
	Exact     bool            `json:"exact,omitempty"`    // ECS_TRAFFIC_ROUTING: extra canary tasks for the exact share
	Share     *Share          `json:"share,omitempty"`    // ECS_TRAFFIC_ROUTING by counts: what it achieves
	KeepOld   bool            `json:"keepOld,omitempty"`  // ECS_PRIMARY_ROLLOUT
	Recreate  bool            `json:"recreate,omitempty"` // ECS_SYNC
	Stop      string          `json:"stop,omitempty"`     // ECS_SYNC: ARN of the service deployment that is stopped first
	Duration  time.Duration   `json:"duration,omitempty"` // WAIT
	Approvers []string        `json:"approvers,omitempty"`
	Approvals int             `json:"approvals,omitempty"` // WAIT_APPROVAL: how many must say yes
	Task      *Task           `json:"task,omitempty"`      // RUN_TASK

	Routes []Route        `json:"routes,omitempty"` // rules and their weights after the stage
	Writes []sluice.Write `json:"writes,omitempty"`
}

// Route is a rule with the weights that a stage leaves on it.
type Route struct {
	Rule    string         `json:"rule"` // ARN
	Name    string         `json:"name"`
	Weights sluice.Weights `json:"weights"`
}

// Lists reports whether the stage may make the write.
func (s Stage) Lists(w sluice.Write) bool {
	for _, x := range s.Writes {
		if x == w {
			return true
		}
	}
	return false
}

// HasChanges reports whether deploying would change anything.
func (p *Plan) HasChanges() bool { return len(p.Changes) > 0 }

// Names of what is not made yet, as plans list it.
const (
	CanarySet     = "task set of canary"
	NewPrimarySet = "new task set of primary"
	OldPrimarySet = "old task set of primary"
	RestoredSet   = "restored task set of primary"
	OtherSets     = "other task sets of ours"
	ForeignSets   = "task sets of others in our target groups"
	ServingSet    = "task set that is PRIMARY"
	OurDeployment = "service deployment of ours"
	OurShift      = "CodeDeploy deployment of ours"
	ReturnShift   = "CodeDeploy deployment that returns"
)

// Rolls reports whether the primary is deployed by ECS's own rolling update.
func (p *Plan) Rolls() bool { return p.Controller == controllerECS }

// Stage returns the stage at index; the rollback is at len(Stages).
func (p *Plan) Stage(index int) Stage {
	if index == len(p.Stages) {
		return p.Rollback
	}
	return p.Stages[index]
}
