package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// startContainers starts each container whose dependencies are met, and the task when no container
// waits. A task whose containers wait stays in ACTIVATING. It ends with an essential container that
// never starts.
func startContainers(tx *world.Tx, t *world.Task) {
	for moved := true; moved; {
		moved = false
		var ready []*world.Container
		for _, c := range pendingContainers(t) {
			switch s := dependencyOf(tx, t, c); {
			case s.never == "" && !s.isPending:
				ready = append(ready, c)
			case s.never != "":
				moved = true
				if !refuseContainer(tx, t, c, s.never) {
					return
				}
			}
		}
		if !startReady(tx, t, ready) {
			return
		}
		moved = moved || len(ready) > 0
	}
	if len(pendingContainers(t)) == 0 {
		runTask(tx, t)
	}
}

func pendingContainers(t *world.Task) (all []*world.Container) {
	for _, c := range t.Containers {
		if c.Status == "PENDING" {
			all = append(all, c)
		}
	}
	return all
}

// continueStart starts the containers that waited for a change of another one.
func continueStart(tx *world.Tx, t *world.Task) {
	if t.LastStatus == "ACTIVATING" && t.DesiredStatus == "RUNNING" {
		startContainers(tx, t)
	}
}

// resolveImage returns the digest of a container's image. The first task of a deployment resolves its
// tag for all (Developer Guide, "Container image resolution").
func resolveImage(tx *world.Tx, t *world.Task, c *world.Container) string {
	if t.Set == nil || c.Spec.ResolvesAnew {
		return tx.ImageDigest(c.Spec.Image)
	}
	if t.Set.Digests == nil {
		t.Set.Digests = map[string]string{}
	}
	name := c.Spec.Name
	t.Set.Digests[name] = cmp.Or(t.Set.Digests[name], tx.ImageDigest(c.Spec.Image))
	return t.Set.Digests[name]
}

// jobTime is how long a container runs whose end another one awaits, if its image says nothing about its
// end: it ends with 0. Otherwise an image that no world file declares, a server, would never end.
const jobTime = 5 * time.Second

// isAwaited reports whether a container waits for the end of the named one.
func isAwaited(specs []world.ContainerSpec, name string) bool {
	return slices.ContainsFunc(specs, func(s world.ContainerSpec) bool {
		return slices.ContainsFunc(s.DependsOn, func(d world.Dependency) bool {
			return d.Container == name && (d.Condition == "COMPLETE" || d.Condition == "SUCCESS")
		})
	})
}

// exitNeverStarted is the exit code that the agent gives a container that never starts
// (amazon-ecs-agent, pull request 3218).
const exitNeverStarted = 143

// refuseContainer records why a container never starts. It reports whether the task can still start.
func refuseContainer(tx *world.Tx, t *world.Task, c *world.Container, why string) bool {
	code := exitNeverStarted
	c.Status, c.ExitCode, c.Reason = "STOPPED", &code, why
	if c.Spec.Essential {
		failToStart(tx, t, why)
	}
	return !c.Spec.Essential
}

// startReady starts containers, or fails the task if one of them cannot start.
func startReady(tx *world.Tx, t *world.Task, ready []*world.Container) bool {
	for _, c := range ready {
		if c.Reason = cmp.Or(executionRoleError(tx, t), c.Behaviour.NoBoot, logDriverError(tx, t, c)); c.Reason != "" {
			failToStart(tx, t, c.Reason)
			return false
		}
	}
	for _, c := range ready {
		c.Status, c.StartedAt, c.RuntimeID = "RUNNING", tx.Now(), runtimeID(tx, t, c)
		c.Digest = resolveImage(tx, t, c)
		tx.Emit(newStartProcess(tx, t, c))
		scheduleCrash(tx, t, c)
		if c.Spec.Health != nil {
			scheduleNextCheck(tx, t, c, 0, 0)
		}
	}
	return true
}

func runtimeID(tx *world.Tx, t *world.Task, c *world.Container) string {
	i := slices.Index(t.Containers, c)
	return fmt.Sprintf("%s-%010d", t.ID, int(tx.Random("runtime", t.ID, i)*1e10))
}

// runTask moves a task to RUNNING: all its containers were started. AWS's lifecycle page says that
// targets are registered in ACTIVATING; published logs show it after RUNNING. The code follows the
// logs.
func runTask(tx *world.Tx, t *world.Task) {
	t.PullStoppedAt = tx.Now()
	tx.SetStatus(t, "RUNNING")
	if t.Set != nil {
		noteStarted(t)
	}
	registerTargets(tx, t)
	registerInCloudMap(tx, t)
}

// dependencyState says whether a container can start.
type dependencyState struct {
	isPending bool
	never     string // why it never starts
}

// dependencyOf compares what a container waits for with the state of the other containers (API
// Reference, ContainerDependency; texts of amazon-ecs-agent).
func dependencyOf(tx *world.Tx, t *world.Task, c *world.Container) (s dependencyState) {
	for _, d := range c.Spec.DependsOn {
		on := containerNamed(t, d.Container)
		const graph = "CannotStartContainerError: dependency graph: "
		switch pair := fmt.Sprintf("[%s] for target [%s]", describe(on), describe(c)); {
		case isMet(on, d.Condition):
		case d.Condition == "SUCCESS" && on.Status == "STOPPED":
			s.never = graph + "failed to resolve container ordering dependency " + pair +
				" as dependency did not exit successfully."
			return s
		case on.Status == "STOPPED" && on.StartedAt.IsZero():
			s.never = graph + "failed to resolve container ordering dependency " + pair +
				" because dependency will never start"
			return s
		case isLateDependency(tx, t, on):
			s.never = graph + "container ordering dependency " + pair + " has timed out."
			return s
		default:
			s.isPending = true
		}
	}
	return s
}

func containerNamed(t *world.Task, name string) *world.Container {
	i := slices.IndexFunc(t.Containers, func(c *world.Container) bool { return c.Spec.Name == name })
	return t.Containers[i] // RegisterTaskDefinition refuses unknown names
}

func isMet(on *world.Container, condition string) bool {
	ended := on.Status == "STOPPED" && !on.StartedAt.IsZero()
	switch condition {
	case "START":
		return on.Status == "RUNNING" || ended
	case "COMPLETE":
		return ended
	case "SUCCESS":
		return ended && *on.ExitCode == 0
	}
	return on.Status == "RUNNING" && on.Health == "HEALTHY"
}

// isLateDependency reports whether a container took longer than its startTimeout. It schedules the
// time at which that is known.
func isLateDependency(tx *world.Tx, t *world.Task, on *world.Container) bool {
	if on.Status != "RUNNING" || on.Spec.StartTimeout == 0 {
		return false
	}
	end := on.StartedAt.Add(on.Spec.StartTimeout)
	if end.After(tx.Now()) {
		tx.At(end, func(tx *world.Tx) { continueStart(tx, t) })
		return false
	}
	return true
}

// describe returns a container in the words of the agent.
func describe(c *world.Container) string {
	s := fmt.Sprintf("%s(%s) (%s->RUNNING)", c.Spec.Name, c.Spec.Image, agentStatus(c))
	if c.ExitCode != nil {
		s += fmt.Sprintf(" - Exit: %d", *c.ExitCode)
	}
	return s
}

func agentStatus(c *world.Container) string {
	if c.Status == "PENDING" {
		return "NONE"
	}
	return c.Status
}
