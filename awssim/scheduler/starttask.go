package scheduler

import (
	"cmp"
	"net/netip"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/image"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// Launch describes a task to start. Set and Service are nil for a standalone task.
type Launch struct {
	Cluster    *world.Cluster
	Service    *world.Service
	Set        *world.TaskSet
	Definition *world.TaskDefinition
	// Containers replaces the containers of the definition if a caller overrides them.
	Containers []world.ContainerSpec
	// ExecutionRole replaces that of the definition; "": it does not.
	ExecutionRole string
	Group         string
	StartedBy     string
	LaunchType    string
	Provider      string // capacity provider, or ""
	Place         Place
	Doc           any
}

// StartTask creates a task in PROVISIONING and schedules its next step.
func (s *Scheduler) StartTask(tx *world.Tx, l Launch) *world.Task { return launchTask(tx, l) }

func launchTask(tx *world.Tx, l Launch) *world.Task {
	id := tx.NewHex("task", 32)
	t := &world.Task{
		ARN: tx.ARN("ecs", "task/"+l.Cluster.Name+"/"+id), ID: id, Cluster: l.Cluster, Service: l.Service, Set: l.Set,
		Definition: l.Definition, ExecutionRole: cmp.Or(l.ExecutionRole, l.Definition.ExecutionRole),
		Group: l.Group, StartedBy: l.StartedBy, LaunchType: l.LaunchType,
		LastStatus: "PROVISIONING", DesiredStatus: "RUNNING", Version: 1, Health: "UNKNOWN",
		Subnet: l.Place.Subnet, Zone: l.Place.Subnet.Zone, Instance: l.Place.Instance, Provider: l.Provider,
		CreatedAt: tx.Now(), Doc: l.Doc,
	}
	specs := l.Containers
	if specs == nil {
		specs = l.Definition.Containers
	}
	for _, spec := range specs {
		if t.Instance != nil && !l.Definition.HasOwnAddress() {
			spec.Ports = t.Instance.Publish(spec.Ports)
		}
		b, ok := tx.Image(spec.Image)
		if !ok && b.NoBoot == "" {
			b.NoBoot = "CannotPullContainerError: invalid reference format: " + spec.Image
		}
		b = b.StartedWith(spec.Command)
		if b.IsModelled() && b.CrashAfter == 0 && isAwaited(specs, spec.Name) {
			b.CrashAfter, b.ExitCode = jobTime, 0
		}
		t.Containers = append(t.Containers, &world.Container{Spec: spec, Behaviour: b, Status: "PENDING", Health: "UNKNOWN"})
	}
	tx.Tasks.Put(t.ARN, t)
	if l.Set != nil {
		l.Set.Tasks = append(l.Set.Tasks, t)
	}
	if t.Instance != nil {
		t.Instance.Tasks = append(t.Instance.Tasks, t)
	}
	tx.Log("task", t.ID, "started in %s by %s", t.Zone, t.StartedBy)
	tx.Changed(world.TaskChanged, t)
	scheduleStep(tx, t, tx.Settings().Provisioning, "provisioning", finishProvisioning)
	return t
}

// scheduleStep runs the next step of a task after a random delay.
func scheduleStep(tx *world.Tx, t *world.Task, r world.Range, purpose string,
	f func(*world.Tx, *world.Task)) {
	scheduleAfter(tx, t, tx.RandomBetween(r.Min, r.Max, purpose, t.ID, 0), f)
}

func scheduleAfter(tx *world.Tx, t *world.Task, d time.Duration, f func(*world.Tx, *world.Task)) {
	n := stateOfTask(t)
	tx.Cancel(n.nextStep)
	n.nextStep = tx.After(d, func(tx *world.Tx) { f(tx, t) })
}

func finishProvisioning(tx *world.Tx, t *world.Task) {
	a, ok := t.Subnet.TakeAddress()
	if !ok {
		failToStart(tx, t, "Timeout waiting for network interface provisioning to complete.")
		return
	}
	if tx.TasksByAddress == nil {
		tx.Region.TasksByAddress = map[netip.Addr]*world.Task{}
	}
	t.Address = a
	tx.TasksByAddress[a] = t
	tx.SetStatus(t, "PENDING")
	scheduleStep(tx, t, tx.Settings().Pending, "pending", activateTask)
}

func activateTask(tx *world.Tx, t *world.Task) {
	t.ConnectivityAt, t.PullStartedAt = tx.Now(), tx.Now()
	tx.SetStatus(t, "ACTIVATING")
	k, slowest := tx.Settings().Activating, time.Duration(0)
	for _, c := range t.Containers {
		slowest = max(slowest, c.Behaviour.StartDelay)
	}
	scheduleAfter(tx, t, tx.RandomBetween(k.Min, k.Max, "activating", t.ID, 0)+slowest+extraStartDelay(tx, t),
		startContainers)
}

// extraStartDelay returns the delay that the active faults add to a task's start.
func extraStartDelay(tx *world.Tx, t *world.Task) (d time.Duration) {
	name := strings.TrimPrefix(t.Group, "service:")
	for _, x := range tx.ActiveFaults.SlowStart {
		if x.Service == "*" || t.Service != nil && x.Service == name {
			d += time.Duration(float64(x.By) * float64(time.Second))
		}
	}
	return d
}

// executionRoleError returns why ECS cannot assume the execution role of a task, in AWS's words: it does not exist. It
// returns "" if it can.
func executionRoleError(tx *world.Tx, t *world.Task) string {
	if t.ExecutionRole == "" || !tx.LacksRole(t.ExecutionRole) {
		return ""
	}
	return image.RoleError(t.ExecutionRole)
}

// logDriverError returns why a container's log driver cannot start, in AWS's words: its log group
// does not exist and may not be created. It returns "" if the driver can start.
func logDriverError(tx *world.Tx, t *world.Task, c *world.Container) string {
	if tx.Settings().StartsWithoutLogGroup || !tx.LacksLogGroup(c.Spec.Log) {
		return ""
	}
	const cause = "failed to create Cloudwatch log stream: ResourceNotFoundException: The specified log group does " +
		"not exist."
	if t.LaunchType == "FARGATE" {
		return "ResourceInitializationError: failed to validate logger args: create stream has been retried 1 times: " +
			cause + " : exit status 1"
	}
	return "CannotStartContainerError: Error response from daemon: failed to initialize logging driver: " + cause
}

func newStartProcess(tx *world.Tx, t *world.Task, c *world.Container) world.StartProcess {
	e := world.StartProcess{
		Key: tx.Key, Task: t.ARN, TaskID: t.ID, Container: c.Spec.Name, Address: t.Address, Behaviour: c.Behaviour,
		Environment: copyEnvironment(c.Spec.Environment), StopTimeout: stopTimeout(t, c), At: tx.Now(),
	}
	if t.Service != nil {
		e.Service = t.Service.Name
	}
	e.Ports, e.OwnPorts = c.ListeningPorts()
	return e
}

func scheduleCrash(tx *world.Tx, t *world.Task, c *world.Container) {
	if b := c.Behaviour; b.CrashAfter > 0 && hasModelledExit(tx, c) {
		tx.After(b.CrashAfter, func(tx *world.Tx) { containerExited(tx, t, c, b.ExitCode, b.ExitReason) })
	}
}

// hasModelledExit reports whether a container's exit follows from its behaviour. Otherwise a
// process of the host reports the exit (see [Scheduler.ProcessExited]).
func hasModelledExit(tx *world.Tx, c *world.Container) bool {
	return len(c.Behaviour.Command) == 0 || !tx.HasDataPlane()
}

// registerTargets registers the task in the target groups of its set.
func registerTargets(tx *world.Tx, t *world.Task) {
	if t.Set == nil {
		return
	}
	n := stateOfTask(t)
	for _, a := range t.Set.Attached {
		g, ok := tx.TargetGroups.Get(a.TargetGroup)
		if !ok {
			n.groupMissing = true
			addEvent(tx, t.Service, "(service %s) task set (%s) (task %s) is not healthy in target-group (%s) due "+
				"to TARGET GROUP IS NOT FOUND",
				t.Service.Name, t.Set.ID, t.ID, a.TargetGroup)
			continue
		}
		id, port := targetOf(g, t, a)
		n.targets = append(n.targets, tx.RegisterTarget(g, id, port, t.Zone, t))
		countEvent(t.Service, "registered", a.TargetGroup)
	}
}

// targetOf returns the target under which a task is registered: its own address and the container's
// port, or its container instance and the host port.
func targetOf(g *world.TargetGroup, t *world.Task, a world.Attachment) (id string, port int32) {
	if g.TargetType == "instance" && t.Instance != nil {
		return t.Instance.ID, t.PublishedPort(a.Container, a.ContainerPort)
	}
	return t.Address.String(), a.ContainerPort
}

// stopTimeout returns the time between a container's SIGTERM and SIGKILL: 30 s by default, at most
// 120 s on Fargate.
func stopTimeout(t *world.Task, c *world.Container) time.Duration {
	d := c.Spec.StopTimeout
	if d <= 0 {
		d = 30 * time.Second
	}
	if t.LaunchType == "FARGATE" {
		d = min(d, 120*time.Second)
	}
	return d
}

func momentOf(t *world.Task, c *world.Container, at time.Time) image.Moment {
	return image.Moment{SinceStart: at.Sub(c.StartedAt), Signalled: !t.SignalledAt.IsZero(),
		SinceSignal: at.Sub(t.SignalledAt)}
}

func copyEnvironment(m map[string]string) map[string]string {
	if m == nil {
		return nil
	}
	c := make(map[string]string, len(m))
	for k, v := range m {
		c[k] = v
	}
	return c
}
