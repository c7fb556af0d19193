package appfile

import (
	"time"

	"github.com/sluice-ecs/sluice/internal/appfile/values"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// Rehearsal describes the simulated environment of a rehearsal, as far as the file sets it. A nil
// field is not set. Sources of the ranges: Elastic Load Balancing API Reference, CreateTargetGroup
// and ModifyTargetGroupAttributes.
type Rehearsal struct {
	Tasks, Zones *int
	Start        *time.Duration // of a task, from its launch until it runs
	Boot         *time.Duration // from then until it serves requests
	Stop         *time.Duration // how long it keeps serving after SIGTERM
	TTL          *time.Duration // of the records of a name

	Check              string         // protocol of health checks: HTTP, TCP; empty: not set
	Interval, Timeout  *time.Duration // of health checks
	Healthy, Unhealthy *int           // consecutive check results
	Drain              *time.Duration // deregistration delay
	Propagation        *time.Duration // of changed weights to all nodes of the load balancer
	Balancer           string         // type of the load balancer: application, network; empty: not set

	Rate     *int           // requests per second on each path
	Duration *time.Duration // of a request

	MinTasks, MaxTasks *int // of a scalable target
}

func rehearsalShape() shape {
	count := func(max int64) shape { return shape{kind: integer, min: 1, max: max} }
	answers := shape{kind: integer, min: 2, max: 10}
	between := func(min, max int64) shape { return shape{kind: delay, min: min, max: max} }
	return shape{kind: object, keys: []key{
		honouredKey("tasks", count(500), "The desired count."),
		honouredKey("zones", count(3), "The number of Availability Zones with tasks."),
		honouredKey("start", between(0, 3600),
			"The time from the launch of a task until it runs: network, image, start."),
		honouredKey("boot", between(0, 3600), "How long a running task returns 503 before it serves requests."),
		honouredKey("servesAfterStop", between(0, 120),
			"How long a task continues to serve requests after SIGTERM."),
		honouredKey("ttl", between(1, 3600),
			"How long callers cache the addresses of a Cloud Map name (the DNS TTL). Default: 60s."),
		honouredKey("healthCheck", shape{kind: object, keys: []key{
			honouredKey("protocol", shape{kind: choice, words: []string{"HTTP", "TCP"}},
				"HTTP, or TCP for checks that only connect. Default: HTTP, and TCP behind a Network Load Balancer."),
			honouredKey("interval", between(5, 300), "The time between two health checks of a target."),
			honouredKey("timeout", between(2, 120), "The time after which a health check fails."),
			honouredKey("healthy", answers, "The number of consecutive checks that must pass."),
			honouredKey("unhealthy", answers, "The number of consecutive checks that must fail."),
		}}, "The health checks of both target groups."),
		honouredKey("deregistrationDelay", between(0, 3600), "How long the connections of a deregistered target may "+
			"continue."),
		honouredKey("weightPropagation", between(0, 600),
			"The maximum time until a changed weight reaches every node of the load balancer."),
		honouredKey("loadBalancer", shape{kind: choice, words: []string{"application", "network"}},
			"The type of the load balancer. Default: application, unless listenerRules names a listener of a Network "+
				"Load Balancer."),
		honouredKey("requests", shape{kind: object, keys: []key{
			honouredKey("rate", count(100_000), "Requests per second on each path. Default: 200."),
			honouredKey("duration", between(0, 3600), "How long a request lasts."),
		}}, "The requests of the callers."),
		honouredKey("autoscaling", shape{kind: object, keys: []key{
			neededKey("min", shape{kind: integer, min: 0, max: 500}, "The minimum desired count."),
			neededKey("max", count(500), "The maximum desired count."),
		}}, "Application Auto Scaling sets the desired count."),
	}}
}

// readRehearsal reads the values of a checked key.
func (l *loader) readRehearsal(n *definition.Node) *Rehearsal {
	if !values.IsGiven(n) {
		return nil
	}
	check, requests, scaling := n.Get("healthCheck"), n.Get("requests"), n.Get("autoscaling")
	r := &Rehearsal{
		Tasks: values.Count(n.Get("tasks")), Zones: values.Count(n.Get("zones")), Start: values.DelayIfGiven(n.Get("start")),
		Boot: values.DelayIfGiven(n.Get("boot")),
		Stop: values.DelayIfGiven(n.Get("servesAfterStop")), TTL: values.DelayIfGiven(n.Get("ttl")),
		Check: values.Text(check.Get("protocol")), Interval: values.DelayIfGiven(check.Get("interval")),
		Timeout: values.DelayIfGiven(check.Get("timeout")),
		Healthy: values.Count(check.Get("healthy")), Unhealthy: values.Count(check.Get("unhealthy")),
		Drain:       values.DelayIfGiven(n.Get("deregistrationDelay")),
		Propagation: values.DelayIfGiven(n.Get("weightPropagation")),
		Balancer:    values.Text(n.Get("loadBalancer")),
		Rate:        values.Count(requests.Get("rate")), Duration: values.DelayIfGiven(requests.Get("duration")),
		MinTasks: values.Count(scaling.Get("min")), MaxTasks: values.Count(scaling.Get("max")),
	}
	if r.MinTasks != nil && r.MaxTasks != nil && *r.MinTasks > *r.MaxTasks {
		l.problems = append(l.problems, l.src.At(scaling.Get("min"), "rehearse.autoscaling.min %d is above max %d",
			*r.MinTasks, *r.MaxTasks))
	}
	return r
}
