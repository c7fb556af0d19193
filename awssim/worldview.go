package awssim

import (
	"cmp"
	"strconv"
	"time"

	"github.com/sluice-ecs/sluice/awssim/fault"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// View is the state of the world, for people and pages; see [Sim.View].
type View struct {
	Now     time.Time      `json:"now"`
	Speed   float64        `json:"speed"`         // of the clock, times the machine's
	DNS     string         `json:"dns,omitempty"` // address of the name server for Cloud Map
	Regions []RegionView   `json:"regions"`
	Faults  []fault.Status `json:"faults"`
}

// RegionView is one account in one Region.
type RegionView struct {
	Account       string         `json:"account"`
	Region        string         `json:"region"`
	Clusters      []ClusterView  `json:"clusters"`
	LoadBalancers []BalancerView `json:"loadBalancers"`
	TargetGroups  []GroupView    `json:"targetGroups"`
	Namespaces    []NameView     `json:"namespaces,omitempty"` // of Cloud Map
	// Deployments are CodeDeploy's newest twenty, newest first.
	Deployments []DeploymentView `json:"deployments,omitempty"`
	Functions   []FunctionView   `json:"functions,omitempty"`
	Scalable    []ScalableView   `json:"scalableTargets,omitempty"`
}

// ClusterView is a cluster with its services and standalone tasks.
type ClusterView struct {
	Name     string        `json:"name"`
	Services []ServiceView `json:"services"`
	Tasks    []TaskView    `json:"tasks,omitempty"` // that belong to no service
}

// ServiceView is a service.
type ServiceView struct {
	Name       string        `json:"name"`
	Status     string        `json:"status"`
	Controller string        `json:"controller"`
	Desired    int           `json:"desired"`
	TaskSets   []TaskSetView `json:"taskSets"`
	Events     []string      `json:"events"` // the newest ten, newest first
}

// TaskSetView is a task set, or a deployment of a rolling service.
type TaskSetView struct {
	ID           string     `json:"id"`
	Status       string     `json:"status"`
	ExternalID   string     `json:"externalId,omitempty"`
	Definition   string     `json:"taskDefinition"` // "web:3"
	Scale        float64    `json:"scale"`
	Desired      int        `json:"desired"`
	Stability    string     `json:"stability,omitempty"`
	TargetGroups []string   `json:"targetGroups,omitempty"` // ARNs
	Tasks        []TaskView `json:"tasks"`
}

// TaskView is a task that is not STOPPED.
type TaskView struct {
	ID       string   `json:"id"`
	Status   string   `json:"status"`
	Desired  string   `json:"desired"`
	Health   string   `json:"health"`
	Address  string   `json:"address,omitempty"`
	Zone     string   `json:"zone"`
	Images   []string `json:"images"`
	Versions []string `json:"versions"`
}

// BalancerView is a load balancer.
type BalancerView struct {
	ARN       string         `json:"arn"`
	Name      string         `json:"name"`
	DNSName   string         `json:"dnsName"`
	State     string         `json:"state"`
	Listeners []ListenerView `json:"listeners"`
}

// ListenerView is a listener with its rules by priority, the default rule last.
type ListenerView struct {
	ARN   string     `json:"arn"`
	Port  int32      `json:"port"`
	Bound string     `json:"bound,omitempty"` // address of its socket
	Rules []RuleView `json:"rules"`
}

// RuleView is a rule; its weights are the requested ones, by group ARN.
type RuleView struct {
	ARN      string       `json:"arn"`
	Priority int          `json:"priority"` // 0: default
	Action   string       `json:"action"`
	Weights  []WeightView `json:"weights,omitempty"`
}

// WeightView is a target group's weight in a rule.
type WeightView struct {
	Group  string `json:"group"` // ARN
	Weight int32  `json:"weight"`
}

// GroupView is a target group.
type GroupView struct {
	ARN     string       `json:"arn"`
	Name    string       `json:"name"`
	Targets []TargetView `json:"targets"`
}

// TargetView is a target.
type TargetView struct {
	ID     string `json:"id"`
	Port   int32  `json:"port"`
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
	Task   string `json:"task,omitempty"` // id
}

// TimeView is the world's identity and time.
type TimeView struct {
	// World is a random ID, new after each start, load and reset. It distinguishes what a client
	// remembers of the previous world from the present one. The APIs of AWS do not show it.
	World string    `json:"world"`
	Now   time.Time `json:"now"`
	Speed float64   `json:"speed"` // of the clock, times the machine's
}

// Time returns the world's ID and time.
func (s *Sim) Time() TimeView {
	e := s.current.Load()
	return TimeView{World: e.id, Now: e.world.Now(), Speed: cmp.Or(s.options.Speed, 1)}
}

// View returns the state of every Region.
func (s *Sim) View() View {
	e := s.current.Load()
	v := View{Speed: cmp.Or(s.options.Speed, 1), Regions: []RegionView{}, Faults: e.faults.List()}
	if at := s.dns.Load(); at != nil {
		v.DNS = *at
	}
	e.world.Each(func(tx *world.Tx) { v.Regions = append(v.Regions, viewRegion(tx)) })
	v.Now = e.world.Now()
	return v
}

func viewRegion(tx *world.Tx) RegionView {
	v := RegionView{Account: tx.Key.Account, Region: tx.Key.Region, Clusters: []ClusterView{},
		LoadBalancers: []BalancerView{}, TargetGroups: []GroupView{}}
	for _, c := range tx.Clusters.All() {
		v.Clusters = append(v.Clusters, viewCluster(tx, c))
	}
	for _, lb := range tx.LoadBalancers.All() {
		v.LoadBalancers = append(v.LoadBalancers, viewBalancer(lb))
	}
	for _, g := range tx.TargetGroups.All() {
		v.TargetGroups = append(v.TargetGroups, viewGroup(g))
	}
	for _, n := range tx.Namespaces.All() {
		v.Namespaces = append(v.Namespaces, viewNamespace(n))
	}
	viewDeploy(tx, &v)
	return v
}

func viewCluster(tx *world.Tx, c *world.Cluster) ClusterView {
	v := ClusterView{Name: c.Name, Services: []ServiceView{}}
	for _, s := range tx.Services.All() {
		if s.Cluster == c {
			v.Services = append(v.Services, viewService(s))
		}
	}
	for _, t := range tx.Tasks.All() {
		if t.Cluster == c && t.Service == nil && t.LastStatus != "STOPPED" {
			v.Tasks = append(v.Tasks, viewTask(t))
		}
	}
	return v
}

func viewService(s *world.Service) ServiceView {
	v := ServiceView{Name: s.Name, Status: s.Status, Controller: s.Controller, Desired: s.Desired,
		TaskSets: []TaskSetView{}, Events: []string{}}
	for _, ts := range s.TaskSets {
		v.TaskSets = append(v.TaskSets, viewSet(ts))
	}
	for _, e := range s.Events[:min(10, len(s.Events))] {
		v.Events = append(v.Events, e.Message)
	}
	return v
}

func viewSet(ts *world.TaskSet) TaskSetView {
	v := TaskSetView{
		ID: ts.ID, Status: ts.Status, ExternalID: ts.ExternalID, Scale: ts.Scale, Desired: ts.Computed,
		Stability: ts.Stability, Tasks: []TaskView{},
	}
	if d := ts.Definition; d != nil {
		v.Definition = d.Family + ":" + strconv.Itoa(d.Revision)
	}
	for _, a := range ts.Attached {
		v.TargetGroups = append(v.TargetGroups, a.TargetGroup)
	}
	for _, t := range ts.Tasks {
		v.Tasks = append(v.Tasks, viewTask(t))
	}
	return v
}

func viewTask(t *world.Task) TaskView {
	v := TaskView{ID: t.ID, Status: t.LastStatus, Desired: t.DesiredStatus, Health: t.Health, Zone: t.Zone}
	if t.Address.IsValid() {
		v.Address = t.Address.String()
	}
	for _, c := range t.Containers {
		v.Images, v.Versions = append(v.Images, c.Spec.Image), append(v.Versions, c.Behaviour.Version)
	}
	return v
}

func viewBalancer(lb *world.LoadBalancer) BalancerView {
	v := BalancerView{ARN: lb.ARN, Name: lb.Name, DNSName: lb.DNSName, State: lb.State, Listeners: []ListenerView{}}
	for _, l := range lb.Listeners {
		lv := ListenerView{ARN: l.ARN, Port: l.Port, Bound: l.Bound, Rules: []RuleView{}}
		for _, r := range l.Rules {
			lv.Rules = append(lv.Rules, viewRule(r))
		}
		v.Listeners = append(v.Listeners, lv)
	}
	return v
}

func viewRule(r *world.Rule) RuleView {
	v := RuleView{ARN: r.ARN, Priority: r.Priority, Action: world.ActionsText(r.Actions)}
	if f := r.ForwardAction(); f != nil {
		for _, s := range f.Groups {
			v.Weights = append(v.Weights, WeightView{s.Group, s.Weight})
		}
	}
	return v
}

func viewGroup(g *world.TargetGroup) GroupView {
	v := GroupView{ARN: g.ARN, Name: g.Name, Targets: []TargetView{}}
	for _, t := range g.Targets {
		tv := TargetView{ID: t.ID, Port: t.Port, State: t.State, Reason: t.Reason}
		if t.Task != nil {
			tv.Task = t.Task.ID
		}
		v.Targets = append(v.Targets, tv)
	}
	return v
}
