package plan

import (
	"slices"

	"github.com/sluice-ecs/sluice/internal/appfile"
)

// Mode is a way of deploying. [Plan.Mode] and mode.Of compute it.
type Mode string

// The modes. Package plan/mode has a file for each.
const (
	ModeTaskSets      Mode = "canary task set"
	ModeCanaryService Mode = "canary service"
	ModeRolling       Mode = "rolling update"
	ModeCodeDeploy    Mode = "CodeDeploy"
	ModeTask          Mode = "standalone task"
)

// Deployment controllers, as AWS names them.
const (
	ControllerECS        = "ECS"
	ControllerExternal   = "EXTERNAL"
	ControllerCodeDeploy = "CODE_DEPLOY"
)

// modeProperties is what a mode means for the code outside of plan/mode, which asks for a property
// and does not compare modes.
type modeProperties struct {
	mode       Mode
	controller string          // of the service; empty: there is no service
	hosting    appfile.Hosting // of the canary; empty: sluice starts no canary

	deployer         string // part of AWS that ends a requested deployment without sluice; empty: none does
	othersDeploy     bool   // ECS or CodeDeploy deploy the service without sluice too, and keep a history
	returnsByHistory bool   // sluice rollback --adopt returns the service by ECS's history
	needsBreaker     bool   // unless sluice follows the deployment, only ECS's circuit breaker rolls it back
	reportsCanary    bool   // events of a canary occur
	canaryTakesOver  bool   // the canary becomes the primary in ECS_SYNC
	leavesNamesToECS bool   // only ECS registers and deregisters instances in Cloud Map
}

// modeTable has a row for each mode.
var modeTable = []modeProperties{
	{mode: ModeTaskSets, controller: ControllerExternal, hosting: appfile.TaskSets, reportsCanary: true},
	{mode: ModeCanaryService, controller: ControllerECS, hosting: appfile.Services, othersDeploy: true,
		reportsCanary: true},
	{mode: ModeRolling, controller: ControllerECS, deployer: "ECS", othersDeploy: true, returnsByHistory: true,
		needsBreaker: true, leavesNamesToECS: true},
	{mode: ModeCodeDeploy, controller: ControllerCodeDeploy, deployer: "CodeDeploy", othersDeploy: true,
		reportsCanary: true, canaryTakesOver: true},
	{mode: ModeTask, deployer: "ECS"},
}

// Modes returns all modes, in the order of the table.
func Modes() (all []Mode) {
	for _, row := range modeTable {
		all = append(all, row.mode)
	}
	return all
}

// ModeOf returns the mode of a service with that controller and that hosting of its canary.
func ModeOf(controller string, hosting appfile.Hosting) Mode {
	for _, row := range modeTable {
		if row.mode.HasService() && row.controller == controller && row.hosting == hosting {
			return row.mode
		}
	}
	return ModeTaskSets
}

// Mode returns the way in which the plan deploys.
func (p *Plan) Mode() Mode {
	if p.Standalone {
		return ModeTask
	}
	return ModeOf(p.Controller, p.Hosting)
}

func (m Mode) properties() modeProperties {
	if i := slices.IndexFunc(modeTable, func(row modeProperties) bool { return row.mode == m }); i >= 0 {
		return modeTable[i]
	}
	return modeProperties{mode: m}
}

// Hosting returns where the canary runs; it is empty if sluice starts no canary.
func (m Mode) Hosting() appfile.Hosting { return m.properties().hosting }

// HasService reports whether a service is deployed. Without one there is nothing to claim, to judge
// or to roll back.
func (m Mode) HasService() bool { return m.properties().controller != "" }

// HasVariants reports whether sluice itself starts a canary next to the primary and shifts traffic.
// Otherwise AWS replaces the tasks.
func (m Mode) HasVariants() bool { return m.properties().hosting != "" }

// HasTaskSets reports whether sluice creates the task sets of the service.
func (m Mode) HasTaskSets() bool { return m.properties().hosting == appfile.TaskSets }

// HasCanaryService reports whether the canary is a service of its own.
func (m Mode) HasCanaryService() bool { return m.properties().hosting == appfile.Services }

// OthersDeploy reports whether ECS or CodeDeploy deploy the service without sluice too, so that
// another deployment may have followed the last one of sluice.
func (m Mode) OthersDeploy() bool { return m.properties().othersDeploy }

// ReturnsByHistory reports whether sluice returns the service by ECS's history if the journal of a
// deployment is lost. Such a deployment leaves nothing that sluice could remove.
func (m Mode) ReturnsByHistory() bool { return m.properties().returnsByHistory }

// Deployer returns the part of AWS that ends a requested deployment without sluice: ECS or
// CodeDeploy. It is empty if none does.
func (m Mode) Deployer() string { return m.properties().deployer }

// HandsOver reports whether AWS ends a requested deployment without sluice.
func (m Mode) HandsOver() bool { return m.properties().deployer != "" }

// ReportsCanary reports whether events of a canary occur.
func (m Mode) ReportsCanary() bool { return m.properties().reportsCanary }

// CanaryTakesOver reports whether the canary becomes the primary in ECS_SYNC.
func (m Mode) CanaryTakesOver() bool { return m.properties().canaryTakesOver }

// LeavesNamesToECS reports whether only ECS registers and deregisters instances in Cloud Map.
func (m Mode) LeavesNamesToECS() bool { return m.properties().leavesNamesToECS }

// NeedsBreaker reports whether only ECS's circuit breaker rolls back a failed deployment that
// sluice does not follow. ECS's other strategies have rollbacks of their own.
func (p *Plan) NeedsBreaker() bool { return p.Mode().properties().needsBreaker && p.Strategy == "" }
