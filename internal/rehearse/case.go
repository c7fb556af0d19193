package rehearse

import (
	"io/fs"
	"time"

	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
)

// Case is one complete rehearsal.
type Case struct {
	Notes []string // comment lines of its text
	Seed  uint64   // of all random numbers
	World shape.World
	Old   string // behaviour of the serving version, as options of an image: "latency=1s"
	New   string // behaviour of the new version
	// Pipeline has a stage per line: "ECS_CANARY_ROLLOUT scale=50". Empty means quick
	// sync, or the rolling update of a service with controller ECS.
	Pipeline      []string
	Breaker       bool           // the rolling service has ECS's circuit breaker with rollback
	Suspend       bool           // the files set suspendAutoScaling
	Before        string         // a task before the stages, as options of its image
	After         string         // a task after the stages; its failure rolls back if this begins with "rollback&"
	Job           Job            // instead of a service
	RestartDelay  time.Duration  // time between a kill and the next process; 0: [minRestartDelay]
	OutsidePolicy string         // onOutsideChange; empty is stop
	Deadline      time.Duration  // progressDeadline
	Bake          time.Duration  // bake
	Faults        []string       // lines of awssim/fault, active from the start of the deployment
	Interventions []Intervention // by people and other tools
	Kills         []Kill         // one for each process of sluice, in order
	FullDisk      FullDisk
	Codec         bool   // encode and decode calls as on the network
	AllowRoute    bool   // the files set onUnhealthyRoute: allow
	Exchanged     bool   // the files name the primary's target group as the canary's, and the reverse
	Provider      string // of metrics, for a gate: what it answers, a word for each reading, the last one repeats
	PipeCD        bool   // the generated files have the form of PipeCD's

	// Files and File are the application. If it is not generated, it replaces Pipeline.
	Files       fs.FS
	File        string
	FailingStep string            // [StepBefore] or [StepAfter]: the first step there fails
	From        appfile.Evaluator // of files that are programs; nil: there are none
	// Generated: the files were generated from this case, see simtest.
	Generated bool
	// QuickSync is the option of the plan.
	QuickSync bool
}

// Intervention is an act of a person or another tool. It is done before the deployment, or it waits for a
// time, the end of a stage, the result of a write, the begin of a lifecycle event of CodeDeploy, or the end of
// the deployment.
type Intervention struct {
	When  When // empty: during the deployment
	At    time.Duration
	Stage int    // counted from 1; 0: by time
	Event string // "AllowTraffic"; empty: by time
	Write int    // of sluice, counted from 1; 0: by time
	Does  string
}

// When says when an act is done that does not wait for a part of the deployment.
type When string

// When an act is done.
const (
	Before   When = "before"    // before the deployment is planned
	AfterEnd When = "after-end" // after the outcome was reported, and At later
)

// Acts of a [Intervention]; words after these are arguments.
const (
	Rollback = "rollback"  // a person runs sluice rollback
	Abort    = "abort"     // a person runs sluice abort
	Pause    = "pause"     // a person pauses the deployment and resumes it a minute later
	EditRule = "edit-rule" // <primary> <canary>: sets the first rule's weights
	// acts on the first rule and its listener; their words begin with EditRule
	EditRuleElsewhere  = "edit-rule-elsewhere" // forwards to the group of another service
	EditRuleFixed      = "edit-rule-fixed"     // answers with a fixed response
	EditRuleDelete     = "edit-rule-delete"    // deletes the rule; a default rule answers with a fixed response
	EditRuleListener   = "edit-rule-listener"  // deletes its listener
	EditRuleGroup      = "edit-rule-group"     // deletes the canary's group, after no rule names it
	EditRuleFront      = "edit-rule-front"     // adds a rule in front of it, which answers all requests by itself
	EditRulePort       = "edit-rule-port"      // gives its listener another port
	EditRuleConditions = "edit-rule-path"      // gives it another path; the default rule gets a rule in front
	RemoveClaim        = "remove-claim"        // removes the claim's tag, as a tool does that manages the tags
	SetDesiredCount    = "scale"               // <n>: sets the desired count
	DeleteService      = "delete-service"      // deletes the service
	TakeClaim          = "take-claim"          // another deployment writes its claim to the service
	SecondSluice       = "second"              // a second sluice, with its own journal, deploys the same application
	ResumeScaling      = "resume-scaling"      // resumes auto scaling
	DeregisterInstance = "take-out"            // <n>: deregisters an instance of the Cloud Map service
	RegisterAddress    = "put-in"              // registers an address that belongs to no task
	RegisterTask       = "put-back"            // registers a deregistered task again
	SetUnhealthy       = "say-unwell"          // <n>: sets an instance to UNHEALTHY in Cloud Map
	ScaleCanary        = "scale-canary"        // <percent>: scales the canary
	DeleteCanary       = "delete-canary"       // deletes the canary
	PromoteCanary      = "promote-canary"      // promotes the canary to PRIMARY
	// a second sluice takes the service over, cleans up and deploys the same application
	TakeOver           = "take-over"
	UpdateService      = "update"     // updates the service (rolling: to the old revision)
	ContinueCodeDeploy = "continue"   // from then on continues CodeDeploy whenever it waits
	StopCodeDeploy     = "stop-shift" // <0 or 1>: stops CodeDeploy's deployment, without or with its rollback
	RaiseAlarm         = "alarm"      // raises the alarm that CodeDeploy monitors
	StopTask           = "stop-task"  // stops a standalone task
	RegisterRevision   = "register"   // registers another revision of such a task
)
