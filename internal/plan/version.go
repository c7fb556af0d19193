package plan

import (
	"slices"

	"github.com/sluice-ecs/sluice"
)

// KeepsVersion reports whether the deployment changes neither the task definition nor the attributes of
// the service: it sets the desired count or auto scaling, or replaces tasks by others of the same revision.
func (p *Plan) KeepsVersion() bool {
	return p.From != "" && p.From == p.To && !p.Adopts() && !slices.ContainsFunc(p.Changes, Change.altersVersion)
}

// KeepsCanary reports whether the deployment changes no version and writes no rule: callers of a canary that was there
// before still get it. A service without variants has none: other targets that its rules send requests to are not its own.
func (p *Plan) KeepsCanary() bool {
	return p.Mode().HasVariants() && p.KeepsVersion() && !p.FinalState().Shifted
}

// RollbackCommand returns the command that restores the state before a deployment, for next steps. To undo a rollback
// would deploy the version again that it left: without an ID, the command goes on to the version that it restores.
func (p *Plan) RollbackCommand(deployment string) string {
	if p.Returns {
		return "sluice rollback"
	}
	return "sluice rollback " + deployment
}

// AltersAttributes reports whether the deployment changes attributes of the service, as the network of its tasks.
func (p *Plan) AltersAttributes() bool {
	return slices.ContainsFunc(p.Changes, func(c Change) bool { return c.Of == "service" && c.altersVersion() })
}

// ReplacesTasks reports whether a deployment that keeps the version starts tasks in the place of others. One that
// changes only the count does so if it creates a task set.
func (p *Plan) ReplacesTasks() bool {
	return len(p.Changes) == 0 || !slices.ContainsFunc(p.Changes, Change.isOfCount) ||
		slices.ContainsFunc(p.Stages, Stage.createsTaskSet)
}

func (s Stage) createsTaskSet() bool {
	return slices.ContainsFunc(s.Writes, func(w sluice.Write) bool { return w.Operation == "ecs:CreateTaskSet" })
}

// isOfCount reports whether the change is one of the number of tasks.
func (c Change) isOfCount() bool {
	return c.Of == "auto scaling" || c.Of == "service" && c.Path == "desiredCount"
}

func (c Change) altersVersion() bool {
	switch {
	case c.isOfCount(), c.Of == LeftoverKind:
		return false
	case c.Of == "service":
		return c.Path != "forceNewDeployment" && c.Path != "deployment"
	}
	return true
}
