package shape

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// File returns the world as a file of the local AWS. serving is the image of the running version.
func (w World) File(serving string) []byte {
	if w.UsesCloudMap() { // no caller uses a load balancer
		w.Primary, w.Canary, w.Listeners, w.OtherRules, w.Strategy = Group{}, Group{}, nil, nil, Strategy{}
		w.Grace, w.Percents = 0, Percents{}
	}
	f := w.Entries()
	f.Settings = w.settings()
	f.Services = []ServiceEntry{w.serviceEntry(serving)}
	if w.OtherService {
		w.addOtherService(&f)
	}
	if w.Alarm {
		f.Alarms = appendNew(slices.Clone(f.Alarms), AlarmName)
	}
	if w.Hooks != "" { // one that hooks name may be missing
		f.Functions = append(slices.Clone(f.Functions), Function{Name: AgreeHook, After: "2s"},
			Function{Name: "fail", Result: "fail", After: "2s"}, Function{Name: "hang", Result: "hang"})
	}
	text, _ := f.Text() // texts, numbers, and what was decoded from JSON
	return text
}

// Entries returns the resources around the service.
func (w World) Entries() File {
	f := File{Account: w.Account, Region: w.Region, Subnets: w.Subnets, Clusters: []string{w.Cluster},
		Namespaces: w.namespaceEntries(), Surroundings: w.Named}
	if p := w.Capacity.Providers; len(p) > 0 {
		f.Capacity = []CapacityEntry{{w.Cluster, p, w.Capacity.Strategy}}
	}
	for _, g := range append([]Group{w.Primary, w.Canary}, w.OtherGroups()...) {
		if g.ARN != "" {
			f.TargetGroups = append(f.TargetGroups, w.groupEntry(g))
		}
	}
	if len(w.Listeners) > 0 {
		f.LoadBalancers = []BalancerEntry{w.balancerEntry()}
		w.addDeployer(&f)
	}
	if w.Scaling.Max > 0 {
		f.ScalableTargets = []ScalableEntry{w.scalableEntry()}
	}
	return f
}

// settings returns the delays of the local AWS.
func (w World) settings() map[string]any {
	all := map[string]any{"throttle": true}
	upTo := func(name string, d time.Duration) {
		if d > 0 {
			all[name] = "0s.." + SecondsText(d)
		}
	}
	upTo(w.propagationSetting(), w.Nodes)
	upTo("targetPropagation", w.Lags.Targets)
	upTo("stabilityLag", w.Lags.Stability)
	upTo("instanceHealthGap", w.Lags.Health)
	upTo("dnsPropagation", w.Lags.Names)
	if w.Start > 0 {
		all["provisioning"], all["pending"], all["activating"] = "0s", SecondsText(w.Start), "0s"
	}
	if w.Naming.Restores {
		all["ecsRestoresInstances"] = true
	}
	if w.Lags.Tokens > 0 {
		all["tokenLifetime"] = SecondsText(w.Lags.Tokens)
	}
	if w.Lags.Starts > 0 {
		all["taskStartsPerMinute"] = w.Lags.Starts
	}
	return all
}

func (w World) groupEntry(g Group) GroupEntry {
	out := GroupEntry{Name: g.Name(), ARN: g.ARN, Port: w.Port, Protocol: w.groupProtocol(),
		DeregistrationDelay: SecondsText(g.Drain),
		HealthCheck: &HealthCheck{Protocol: "HTTP", Interval: SecondsText(g.Interval), Timeout: SecondsText(g.Timeout),
			Healthy: g.Healthy, Unhealthy: g.Unhealthy}}
	if g.TCP {
		out.HealthCheck.Protocol = "TCP"
	}
	if w.Capacity.NetworkMode != "" {
		out.Type = "instance" // a task has the address of its container instance
	}
	return out
}

func (w World) balancerEntry() BalancerEntry {
	b := BalancerEntry{Name: path.Base(path.Dir(w.Balancer)), ARN: w.Balancer}
	if w.UsesNetworkBalancer() {
		b.Type = "network"
	}
	for _, l := range w.Listeners {
		b.Listeners = append(b.Listeners, w.listenerEntry(l))
	}
	if w.Test {
		b.Listeners = append(b.Listeners, ListenerEntry{Port: testPort, Forward: onlyGroup(w.Primary.Name())})
	}
	if w.OtherService && w.UsesNetworkBalancer() { // which has no rules
		b.Listeners = append(b.Listeners, ListenerEntry{Port: 8081, Forward: onlyGroup(others)})
	}
	w.addOtherRules(&b)
	return b
}

// addOtherRules adds the rules to which no modelled requests are sent, each to its listener.
func (w World) addOtherRules(b *BalancerEntry) {
	port, placed := int32(8081), map[string]int{}
	for _, r := range w.OtherRules {
		arn := r.ListenerARN()
		i := slices.IndexFunc(b.Listeners, func(l ListenerEntry) bool { return l.ARN == arn && arn != "" })
		if i < 0 {
			l := ListenerEntry{Port: port, ARN: arn, Fixed: noRuleMatches()}
			if r.IsDefault() {
				l.Fixed, l.Forward = nil, r.shares()
			}
			i, b.Listeners = len(b.Listeners), append(b.Listeners, l)
			port++
		}
		if n := placed[arn]; !r.IsDefault() {
			b.Listeners[i].Rules = append(b.Listeners[i].Rules, RuleEntry{Priority: 500 + n, ARN: r.ARN,
				Path: []string{fmt.Sprintf("/other%d/*", n+1)}, Forward: r.shares()})
			placed[arn] = n + 1
		}
	}
}

func noRuleMatches() *Fixed { return &Fixed{Status: 404, Body: "no rule of the files matches"} }

func (w World) listenerEntry(l Listener) ListenerEntry {
	out := ListenerEntry{Port: l.Port, ARN: l.ARN, Fixed: noRuleMatches()}
	for _, r := range l.Rules {
		if r.IsDefault() {
			out.Fixed, out.Forward, out.Stickiness = nil, w.sharesOf(r), givenText(r.Sticky)
			continue
		}
		out.Rules = append(out.Rules, RuleEntry{Priority: r.Priority, ARN: r.ARN, Path: []string{r.Path},
			Forward: w.sharesOf(r), Stickiness: givenText(r.Sticky)})
	}
	if w.CanaryOnlyRule {
		out.Rules = append(out.Rules, RuleEntry{Priority: CanaryRulePriority, Path: []string{"/marked"},
			Forward: onlyGroup(w.Canary.Name())})
	}
	if w.OtherService && !w.UsesNetworkBalancer() {
		out.Rules = append(out.Rules, RuleEntry{Priority: 49000, Path: []string{"/" + others}, Forward: onlyGroup(others)})
	}
	return out
}

func onlyGroup(name string) Shares { return Shares{{Group: name, Weight: 100}} }

// sharesOf returns the target groups of a rule.
func (w World) sharesOf(r Rule) Shares {
	if r.Alone || w.Canary.ARN == "" {
		return onlyGroup(w.Primary.Name())
	}
	return Shares{{Group: w.Primary.Name(), Weight: r.Primary}, {Group: w.Canary.Name(), Weight: r.Canary}}
}

// others is the name of another team's service and of its target group.
const others = "others"

// addOtherService adds a service of another team.
func (w World) addOtherService(f *File) {
	s := ServiceEntry{Name: others, Controller: "ECS", Count: 2, Image: "sim/others:v1", Port: 80}
	if !w.UsesCloudMap() {
		s.TargetGroup = others
		f.TargetGroups = append(f.TargetGroups, GroupEntry{Name: others, Port: 80, Protocol: w.groupProtocol()})
	}
	f.Services = append(f.Services, s)
}

// addDeployer adds the application and the deployment group of CodeDeploy.
func (w World) addDeployer(f *File) {
	if !w.UsesCodeDeploy() {
		return
	}
	d := w.Deployer
	f.DeploymentConfigs = AssumedConfigs(w.Config)
	at := func(port int32) string { return fmt.Sprintf("%s:%d", f.LoadBalancers[0].Name, port) }
	g := DeploymentGroup{Name: cmp.Or(d.Group, "web"), Cluster: w.Cluster, Service: w.Service, Config: w.Config,
		TargetGroups: []string{w.Primary.Name(), w.Canary.Name()}, Listener: at(w.Listeners[0].Port),
		Terminate: givenText(w.Keep), Ready: givenText(w.Ready)}
	if w.Undo {
		g.Rollback = []string{"DEPLOYMENT_FAILURE", "DEPLOYMENT_STOP_ON_ALARM"}
	}
	if w.Test {
		g.TestListener = at(testPort)
	}
	if w.Alarm {
		g.Alarms = []string{AlarmName}
	}
	f.Applications = []ApplicationEntry{{Name: cmp.Or(d.Application, "shop"), Groups: []DeploymentGroup{g}}}
}

func (w World) scalableEntry() ScalableEntry {
	s := ScalableEntry{Service: w.Service, Cluster: w.Cluster, Min: w.Scaling.Min, Max: w.Scaling.Max,
		Policy: &ScalePolicy{Name: "cpu", Target: TargetCPU}}
	if w.Scaling.SuspendedBefore != "" {
		s.Suspended = strings.Split(w.Scaling.SuspendedBefore, "+")
	}
	return s
}

// serviceEntry returns the service of a rehearsal.
func (w World) serviceEntry(serving string) ServiceEntry {
	if w.Strategy.Serving != nil {
		return w.Strategy.serviceEntry(w, serving)
	}
	s := ServiceEntry{Name: w.Service, Controller: w.Controller, Count: w.Tasks, Image: serving, Port: w.Port,
		Grace: givenText(w.Grace), NetworkMode: w.Capacity.NetworkMode, Demand: w.Scaling.demand(w.Tasks)}
	if w.Primary.ARN != "" {
		s.TargetGroup = w.Primary.Name()
	}
	if w.hasRegistry() {
		s.Registry = w.Service + "." + Namespace
	}
	if w.Capacity.OnEC2 {
		s.LaunchType = "EC2"
	}
	if w.Percents != (Percents{}) {
		s.Percents = &w.Percents
	}
	if w.UsesCloudMap() {
		s.ContainerCheck, s.StopTimeout = givenText(w.Check), "120s"
	}
	return s
}

// SecondsText returns a time as a text of a world file.
func SecondsText(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
}

// givenText returns a time as a text of a world file, or "" if it is zero.
func givenText(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return SecondsText(d)
}
