package replica

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/autoscaling"
	"github.com/sluice-ecs/sluice/internal/codedeploy"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
	"github.com/sluice-ecs/sluice/internal/route/alb"
	"github.com/sluice-ecs/sluice/internal/route/cloudmap"
	"github.com/sluice-ecs/sluice/internal/survey"
)

// Live is a running service with everything around it.
type Live struct {
	Account, Region  string
	Cluster, Service string // names
	Controller       string // ECS, EXTERNAL or CODE_DEPLOY
	Count            int
	Revision         string // that serves: family:revision

	Task         *definition.Task
	Definition   *definition.Service
	Surroundings alb.Surroundings
	Registries   []plan.Registry
	Scaling      []sluice.Scalable
	Deployer     *codedeploy.GroupSettings // nil: CodeDeploy does not deploy it
	Notes        []string                  // parts that could not be read
}

// Read reads a running service. It makes no write.
func Read(ctx context.Context, a *account.Account, cluster, service string) (*Live, error) {
	l := &Live{Region: a.Region(), Cluster: sluice.ARNName(cmp.Or(cluster, "default")),
		Service: sluice.ARNName(service)}
	client := ecs.Service{API: a.ECS(), Cluster: l.Cluster, Name: l.Service}
	state, err := client.Observe(ctx)
	if err != nil {
		return nil, survey.NameMissing(ctx, client, err)
	}
	if !state.IsActive() {
		return nil, survey.NoServiceError(ctx, client,
			"check --cluster and --service, the account and the Region: aws ecs list-services --cluster "+l.Cluster)
	}
	_, l.Account, _ = sluice.ARNPlace(state.ARN)
	l.Controller, l.Count = state.Controller, state.Desired
	if l.Definition, err = definition.ServiceFromAWS(&state.Raw); err != nil {
		return nil, fmt.Errorf("read the service: %w", err)
	}
	if err := l.readTask(ctx, a, state); err != nil {
		return nil, err
	}
	return l, l.readAround(ctx, a, state)
}

// readTask reads the task definition that serves.
func (l *Live) readTask(ctx context.Context, a *account.Account, state *ecs.ServiceState) error {
	if l.Revision = state.Serving(); l.Revision == "" {
		return &sluice.Error{Op: "read the service", Resource: l.Cluster + "/" + l.Service, Kind: sluice.NotFound,
			Err:  errors.New("it has no PRIMARY task set, so no version serves"),
			Next: "deploy a version first"}
	}
	td, err := ecs.ReadTagged(ctx, a.ECS(), l.Revision)
	if err == nil {
		l.Task = definition.TaskFromAWS(td.TaskDefinition, td.Tags)
	}
	return err
}

// readAround reads the load balancers, the Cloud Map names, auto scaling and CodeDeploy.
func (l *Live) readAround(ctx context.Context, a *account.Account, state *ecs.ServiceState) (err error) {
	if l.Controller == plan.ControllerCodeDeploy {
		s, err := codedeploy.Client{API: a.CodeDeploy()}.FindGroup(ctx, codedeploy.Group{}, l.Cluster, l.Service,
			codedeploy.Creators(state.TaskSets))
		if err != nil {
			return err
		}
		l.Deployer = &s
	}
	groups := l.GroupARNs()
	if l.Surroundings, err = alb.ReadSurroundings(ctx, a.ELB(), groups...); err != nil {
		return err
	}
	for _, r := range l.Definition.Input.ServiceRegistries {
		port := int32(0)
		if r.Port != nil {
			port = *r.Port
		}
		found, err := cloudmap.FindRegistry(ctx, a.CloudMap(), *r.RegistryArn, port)
		if err != nil {
			return err
		}
		l.Registries = append(l.Registries, found)
	}
	l.Scaling, err = autoscaling.Service{API: a.Scaling(), Cluster: l.Cluster, Name: l.Service}.Observe(ctx)
	if errors.Is(err, sluice.ErrNoPermission) {
		l.Notes, err = append(l.Notes, "auto scaling is not read: "+sluice.Inner(err).Error()), nil
	}
	return err
}

// GroupARNs returns the target groups in which the service registers its tasks.
func (l *Live) GroupARNs() (arns []string) {
	for _, lb := range l.Definition.Input.LoadBalancers {
		if lb.TargetGroupArn != nil {
			arns = append(arns, *lb.TargetGroupArn)
		}
	}
	return arns
}

// World returns the AWS around the service as it is.
func (l *Live) World() (*World, error) {
	w := &World{File: shape.File{Account: l.Account, Region: l.Region, Clusters: []string{l.Cluster},
		Subnets: shape.SubnetsOf(l.Definition)}, Notes: l.Notes, Task: l.Task, Definition: l.Definition}
	s, err := shape.NewServiceEntry(l.Service, l.Cluster, l.Count, l.Task.FileJSON, l.Definition.FileJSON)
	if err != nil {
		return nil, err
	}
	w.addService(s)
	w.AddTask(l.Task.Input, l.Account, l.Region)
	w.AddService(l.Definition.Input, l.Account)
	for _, g := range l.Surroundings.Groups {
		w.TargetGroups = append(w.TargetGroups, shape.GroupEntry{Name: g.Name, ARN: g.ARN, AWS: g.Request,
			Attributes: effectiveAttributes(g.Attributes)})
	}
	for _, b := range l.Surroundings.Balancers {
		w.LoadBalancers = append(w.LoadBalancers, balancerCopy(b))
	}
	w.addNames(l.Registries)
	needs := shape.CapacityOf(l.Task, l.Definition)
	if len(needs.Providers) > 0 {
		w.Capacity = []shape.CapacityEntry{{Cluster: l.Cluster, Providers: needs.Providers}}
	}
	w.Namespaces = shape.AddConnect(w.Namespaces, needs.Connect)
	w.noteConnect(needs.Connect)
	for _, s := range l.Scaling {
		if s.Dimension == "ecs:service:DesiredCount" {
			w.ScalableTargets = append(w.ScalableTargets, shape.ScalableEntry{Service: l.Service, Cluster: l.Cluster, Min: s.Min,
				Max: s.Max, Suspended: s.Suspended.Words()})
		}
	}
	if len(w.ScalableTargets) > 0 {
		w.note("auto scaling has its bounds here, and no policies: the desired count changes by deployments only")
	}
	return w, l.addDeployer(w)
}

// effectiveAttributes returns the attributes of a target group that change what the local AWS does.
func effectiveAttributes(all map[string]string) map[string]string {
	out := map[string]string{}
	for _, k := range []string{"deregistration_delay.timeout_seconds", "slow_start.duration_seconds",
		"load_balancing.algorithm.type"} {
		if v := all[k]; v != "" {
			out[k] = v
		}
	}
	if all["stickiness.enabled"] == "true" {
		for k, v := range all {
			if strings.HasPrefix(k, "stickiness.") && v != "" {
				out[k] = v
			}
		}
	}
	return out
}

func balancerCopy(b alb.BalancerCopy) shape.BalancerEntry {
	out := shape.BalancerEntry{Name: b.Name, ARN: b.ARN, Listeners: []shape.ListenerEntry{}}
	if b.Type == "network" {
		out.Type = b.Type
	}
	for _, l := range b.Listeners {
		c := shape.ListenerEntry{Port: l.Port, ARN: l.ARN, AWS: l.Request}
		for _, r := range l.Rules {
			priority, _ := strconv.Atoi(r.Priority) // AWS's own number
			c.Rules = append(c.Rules, shape.RuleEntry{Priority: priority, ARN: r.ARN, AWS: r.Request})
		}
		out.Listeners = append(out.Listeners, c)
	}
	return out
}

// addNames adds the Cloud Map services of a running service.
func (w *World) addNames(registries []plan.Registry) {
	for _, r := range registries {
		out := shape.RegistryEntry{Name: r.Name, ID: r.ID, Health: "none"}
		if r.Custom {
			out.Health = "custom"
		}
		if r.Weighted {
			out.Routing = "weighted"
		}
		for _, x := range r.Records {
			if out.Records == nil {
				out.Records = map[string]string{}
			}
			out.Records[x.Type] = shape.SecondsText(x.TTL)
		}
		i := slices.IndexFunc(w.Namespaces, func(n shape.NamespaceEntry) bool { return n.Name == r.Namespace })
		if i < 0 {
			kind := strings.TrimPrefix(strings.ToLower(r.Kind), "dns_")
			w.Namespaces = append(w.Namespaces, shape.NamespaceEntry{Name: r.Namespace, Kind: kind})
			i = len(w.Namespaces) - 1
		}
		w.Namespaces[i].Services = append(w.Namespaces[i].Services, out)
	}
}

// addDeployer adds the deployment group of CodeDeploy.
func (l *Live) addDeployer(w *World) error {
	d := l.Deployer
	if d == nil {
		return nil
	}
	if err := l.addDeployerGroups(w); err != nil {
		return err
	}
	g := shape.DeploymentGroup{Name: d.Name, Cluster: l.Cluster, Service: l.Service, TargetGroups: d.TargetGroups,
		Listener: w.listenerName(d.Listener), TestListener: w.listenerName(d.TestListener), Config: d.Config,
		Rollback: d.RollbackEvents, Terminate: minutesText(d.Terminate)}
	if d.Ready > 0 {
		g.Ready = minutesText(d.Ready)
	}
	w.DeploymentConfigs = shape.AssumedConfigs(d.Config)
	for _, c := range w.DeploymentConfigs {
		w.note("the content of deployment configuration %s is not read: 10%%, then the rest after 5 minutes here", c.Name)
	}
	if len(d.Alarms) > 0 {
		w.note("the alarms of the deployment group are not copied")
	}
	w.Applications = []shape.ApplicationEntry{{Name: d.Application, Groups: []shape.DeploymentGroup{g}}}
	return nil
}

// addDeployerGroups checks that the world has both target groups of the deployment group.
func (l *Live) addDeployerGroups(w *World) error {
	for _, name := range l.Deployer.TargetGroups {
		if slices.ContainsFunc(w.TargetGroups, func(g shape.GroupEntry) bool { return g.Name == name }) {
			continue
		}
		if len(w.TargetGroups) == 0 {
			return &sluice.Error{Op: "copy the deployment group", Resource: l.Deployer.String(),
				Err:  errors.New("the service has no target group"),
				Next: "check the deployment group: aws deploy get-deployment-group"}
		}
		other := w.TargetGroups[0]
		other.ARN, other.Name = shape.GroupARN(other.ARN, name), name
		w.TargetGroups = append(w.TargetGroups, other)
	}
	return nil
}

// listenerName returns "<load balancer>:<port>" of a listener's ARN, or "".
func (w *World) listenerName(arn string) string {
	for _, b := range w.LoadBalancers {
		for _, l := range b.Listeners {
			if l.ARN == arn && arn != "" {
				return fmt.Sprintf("%s:%d", b.Name, l.Port)
			}
		}
	}
	return ""
}

func minutesText(d time.Duration) string { return fmt.Sprintf("%dm", int(d/time.Minute)) }

// FileDefinition returns the service definition for a file, and sentences for the user. The file of a
// service with controller EXTERNAL has no load balancers: the application file names them.
func (l *Live) FileDefinition() (*definition.Service, []string) {
	in, given := *l.Definition.Input, maps.Clone(l.Definition.Given)
	s := &definition.Service{Input: &in, Given: given, File: l.Definition.File}
	var notes []string
	if l.Controller == plan.ControllerExternal {
		in.LoadBalancers = nil
		delete(given, "loadBalancers")
	}
	if len(l.Scaling) > 0 {
		in.DesiredCount = nil
		delete(given, "desiredCount")
		notes = append(notes, ServiceFile+" has no desiredCount: auto scaling sets it")
	}
	values := 0
	for _, c := range l.Task.Input.ContainerDefinitions {
		values += len(c.Environment)
	}
	if values > 0 {
		notes = append(notes, fmt.Sprintf("%s has the values of %s in plain text", TaskFile,
			sluice.Plural(values, "environment variable")))
	}
	return s, notes
}
