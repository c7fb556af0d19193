package simtest

import (
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice/internal/rehearse"
)

// generateJob generates a standalone task, and faults for it. It has few writes and rows, so it has
// its own kills and full disk.
func (d *random) generateJob(c *rehearse.Case) {
	c.Deadline = 10 * time.Minute
	c.Job = rehearse.Job{Count: []int{1, 1, 1, 2, 3, 10, 11, 23}[d.upTo(7)], Does: d.jobOptions(),
		Prior:    d.oneOf("", "", priorOther, priorSame),
		Provider: d.oneOf("", "", "", "FARGATE", "FARGATE_SPOT"), Only: d.chance(10), Logs: d.chance(40)}
	if d.chance(20) {
		c.Job.Count = 1 + d.upTo(22)
	}
	if d.chance(25) && c.Job.Does != "exec-format=true" { // the second container ends before the first one
		c.Job.Side = d.oneOf("crash-after=300ms&exit=0", "crash-after=300ms&exit=4")
		c.Job.Watch = d.oneOf("", jobSidecar, rehearse.JobFamily)
	}
	for range d.upTo(2) {
		c.Faults = append(c.Faults, d.jobFault())
	}
	if d.chance(10) { // it is not listed immediately, and only its token shows that it runs
		c.Faults = append(c.Faults, fmt.Sprintf("lost-reply ecs:RunTask times=%d", 6+d.upTo(6)),
			"stale ecs:ListTasks by=9s")
	}
	if d.chance(12) {
		c.Faults = append(c.Faults, "no-capacity "+c.World.Cluster+d.oneOf("",
			fmt.Sprintf(" for=%ds", 10*(1+d.upTo(50))), fmt.Sprintf(" after=%ds for=5h", 1+d.upTo(8))))
	}
	if d.chance(20) {
		c.Interventions = append(c.Interventions, rehearse.Intervention{At: time.Duration(1+d.upTo(60)) * time.Second,
			Does: d.oneOf(
				rehearse.StopTask,
				rehearse.StopTask,
				rehearse.RegisterRevision,
				rehearse.RegisterRevision,
				rehearse.SecondSluice,
				rehearse.Abort,
				rehearse.Rollback,
				rehearse.Pause,
			)})
	}
	for range d.upTo(2) {
		c.Kills = append(c.Kills, rehearse.Kill{Row: d.chance(60), N: 1 + d.upTo(9), After: d.chance(50)})
	}
	if len(c.Kills) > 0 && d.chance(30) {
		c.RestartDelay = d.oneDuration(10*time.Minute, 40*time.Minute, 80*time.Minute)
	}
	if d.chance(10) {
		c.FullDisk = rehearse.FullDisk{Row: 1 + d.upTo(24), For: 1 + d.upTo(4)}
	}
}

// jobOptions returns what the container does.
func (d *random) jobOptions() string {
	if d.chance(45) {
		return d.oneOf(exits0, "crash-after=1s&exit=0", "start-delay=30s&"+exits0, "crash-after=45m&exit=0&prints=row",
			"crash-after=3h&exit=0")
	}
	return d.oneOf(exits3, "crash-after=1s&exit=255", "crash-after=45m&exit=3", "noboot=true", "no-secret=true",
		"no-role=true", "oom-after=20s", "exec-format=true",
		"start-delay=40m&"+exits0, "crash-after=7h&exit=0")
}

// jobFault returns a fault of the calls that run a task.
func (d *random) jobFault() string {
	on := d.oneOf("ecs:RunTask", "ecs:RunTask", "ecs:DescribeTasks", "ecs:ListTasks", "ecs:RegisterTaskDefinition",
		"ecs:DescribeTaskDefinition", "ecs:*", "logs:*")
	return []string{
		fmt.Sprintf("throttle %s p=0.%d", on, 1+d.upTo(3)), fmt.Sprintf("5xx %s times=%d", on, 1+d.upTo(12)),
		fmt.Sprintf("lost-reply %s times=%d", on, 1+d.upTo(12)),
		fmt.Sprintf("no-send %s p=0.2", on), d.oneOf(fmt.Sprintf("stale ecs:* by=%ds p=0.5", 1+d.upTo(3)),
			fmt.Sprintf("stale %s by=%ds p=0.5", d.oneOf("ecs:ListTasks", "ecs:DescribeTasks"), 1+d.upTo(8))),
		fmt.Sprintf("latency %s by=%dms", on, 100*(1+d.upTo(20))), fmt.Sprintf("throttle %s for=%ds", on, 1+d.upTo(90)),
	}[d.upTo(6)]
}

// jobFlows returns the flows of a standalone task.
func jobFlows(with func(...func(*rehearse.Case)) rehearse.Case) []Flow {
	run := func(count int, does string) func(*rehearse.Case) {
		return func(c *rehearse.Case) { c.Job = rehearse.Job{Count: count, Does: does, Logs: true} }
	}
	at := func(d time.Duration, does string) func(*rehearse.Case) {
		return func(c *rehearse.Case) { c.Interventions = []rehearse.Intervention{{At: d, Does: does}} }
	}
	const long = "crash-after=45m&exit=0"
	return []Flow{
		{"by itself", with(run(1, exits0))},
		{"by itself, it exits with 3", with(run(1, exits3))},
		{"by itself, 23 tasks", with(run(23, exits0))},
		{"by itself, it never boots", with(run(1, "noboot=true"))},
		{"by itself, registered only", with(run(1, exits0), func(c *rehearse.Case) { c.Job.Only = true })},
		{"by itself, registered before", with(run(1, exits0), func(c *rehearse.Case) { c.Job.Prior = priorSame })},
		{"by itself, another container decides",
			with(
				run(2, exits0),
				func(c *rehearse.Case) { c.Job.Side, c.Job.Watch = "crash-after=5s&exit=4", jobSidecar },
			)},
		{
			"by itself, between steps",
			with(run(2, exits0), func(c *rehearse.Case) { c.Before, c.After = exits0, exits3 }),
		},
		{"by itself, aborted while it runs", with(run(1, long), at(3*time.Minute, rehearse.Abort))},
		{"by itself, rolled back while it runs", with(run(1, long), at(3*time.Minute, rehearse.Rollback))},
	}
}

// smallerJobs returns the cases with a simpler job; each remains a job.
func smallerJobs(c rehearse.Case) (all []rehearse.Case) {
	if !c.IsJob() {
		return nil
	}
	for _, change := range []func(*rehearse.Case){
		func(l *rehearse.Case) { l.RestartDelay = 0 },
		func(l *rehearse.Case) { l.Job.Count = 1 },
		func(l *rehearse.Case) { l.Job.Side, l.Job.Watch = "", "" },
		func(l *rehearse.Case) { l.Job.Provider = "" },
		func(l *rehearse.Case) { l.Job.Prior = "" },
		func(l *rehearse.Case) { l.Job.Logs = false },
		func(l *rehearse.Case) { l.Job.Does = exits0 },
	} {
		less := c
		change(&less)
		if Format(less) != Format(c) {
			all = append(all, less)
		}
	}
	return all
}
