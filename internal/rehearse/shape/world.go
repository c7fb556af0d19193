package shape

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// World is the shape of a service and of the resources around it.
type World struct {
	Account, Region  string
	Cluster, Service string
	Controller       string   // EXTERNAL, ECS or CODE_DEPLOY
	Tasks            int      // desired count
	Subnets          []string // IDs, one per zone, at most three
	Port             int32    // of the containers
	Balancer         string   // ARN
	Primary, Canary  Group    // no Canary: ARN ""
	Listeners        []Listener
	Grace            time.Duration // healthCheckGracePeriodSeconds
	Nodes            time.Duration // maximum time until a changed rule reaches every node; 0: default
	OtherService     bool          // another team has a service, group and rule
	Start            time.Duration // of a task, from its launch until it runs; 0: as observed on AWS
	Boot             time.Duration // from then until it answers; options of a version take precedence
	Stop             time.Duration // how long a task answers after SIGTERM; options of a version take precedence
	Rate             int           // requests per second on each path; 0: [Rate]
	Lasts            time.Duration // duration of a request; options of a version take precedence
	Scaling          Scaling
	Percents         Percents
	TTL              time.Duration // of its DNS records, if callers use a Cloud Map name; 0: they use the load balancer
	Check            time.Duration // interval of a container health check; 0: none
	Registry         string        // ARN of the Cloud Map service; empty: a default one
	Naming           Naming
	HostingServices  bool   // the file sets hosting: services
	Config           string // of its deployment group, under controller CODE_DEPLOY; empty: AllAtOnce
	Deployer         Deployer
	Undo             bool          // the group rolls back failed deployments
	Keep             time.Duration // how long the group keeps the original task set
	// under controller CODE_DEPLOY the file sets enableECSManagedTags, and the service does not have it
	Managed bool
	Ready   time.Duration // how long the group waits for a person before traffic shifts; 0: it does not wait
	Test    bool          // the group has a test listener
	// results of the functions of all five lifecycle events, see HookFunction; empty: no hooks
	Hooks          string
	Alarm          bool // the group monitors an alarm, which is OK at first
	Lags           Lags
	CanaryOnlyRule bool // a rule sends all its requests to the canary group
	LeftoverCanary bool // a canary of an earlier deployment exists
	Capacity       Capacity
	OtherToolSet   bool // a task set of another tool exists, in none of the groups
	Strategy       Strategy
	OtherRules     []OtherRule
	Named          Surroundings // what the files name
}

// Lags are the maximum delays of AWS where it documents no limit, or where they exceed the default;
// 0: default.
type Lags struct {
	Targets   time.Duration // registered and deregistered targets reach the load balancer's nodes
	Stability time.Duration // stabilityStatus of task sets
	Health    time.Duration // of a new instance in Cloud Map
	Names     time.Duration // name servers follow Cloud Map; AWS documents 60 s
	Tokens    time.Duration // lifetime of client tokens
	Starts    int           // tasks of a service that start in a minute
}

// settingsText returns the lags as settings of a world file.
func (l Lags) settingsText() (text string) {
	up := func(name string, d time.Duration) {
		if d > 0 {
			text += fmt.Sprintf(", %s: 0s..%s", name, d)
		}
	}
	up("targetPropagation", l.Targets)
	up("stabilityLag", l.Stability)
	up("instanceHealthGap", l.Health)
	up("dnsPropagation", l.Names)
	if l.Tokens > 0 {
		text += fmt.Sprintf(", tokenLifetime: %s", l.Tokens)
	}
	if l.Starts > 0 {
		text += fmt.Sprintf(", taskStartsPerMinute: %d", l.Starts)
	}
	return text
}

// Percents are the limits of a rolling deployment, minimumHealthyPercent and maximumPercent. Zero
// means AWS's defaults, 100 and 200.
type Percents struct{ Least, Most int }

// Block reports whether, at a desired count, the limits let ECS neither stop nor start a task.
func (p Percents) Block(count int) bool {
	return p != (Percents{}) && count > 0 && count*p.Most/100 <= count && (count*p.Least+99)/100 >= count
}

// Group is a target group with its timings.
type Group struct {
	ARN                string
	Interval, Timeout  time.Duration
	Healthy, Unhealthy int // number of consecutive checks
	Drain              time.Duration
	TCP                bool // checks connect; otherwise they send an HTTP request
}

// Name returns the group's name, which is part of its ARN.
func (g Group) Name() string {
	parts := strings.Split(g.ARN, "/")
	if len(parts) < 3 {
		return g.ARN
	}
	return parts[1]
}

// Listener is a port of the load balancer.
type Listener struct {
	ARN   string
	Port  int32
	Rules []Rule // rules that forward to the groups
}

// Rule forwards to the two groups. Path is the path of its requests.
type Rule struct {
	ARN             string // "": the simulator's own
	Priority        int    // 0: the default rule
	Path            string
	Primary, Canary int  // weights
	Alone           bool // forwards to the primary alone
	Sticky          time.Duration
}

// IsDefault reports whether the rule is the default action of its listener.
func (r Rule) IsDefault() bool { return r.Priority == 0 }

// FirstRule returns the first rule of the first listener.
func (w World) FirstRule() Rule {
	for _, l := range w.Listeners {
		for _, r := range l.Rules {
			return r
		}
	}
	return Rule{}
}

// CanaryRulePriority is the priority of the rule of [World.CanaryOnlyRule].
const CanaryRulePriority = 1

// SubnetIDs returns the IDs of n subnets.
func SubnetIDs(n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("subnet-0123456789abcde%02d", i))
	}
	return all
}

// EachRule calls each for every rule of all listeners.
func (w World) EachRule(each func(Listener, Rule)) {
	if w.UsesCloudMap() {
		return
	}
	for _, l := range w.Listeners {
		for _, r := range l.Rules {
			each(l, r)
		}
	}
}

// File returns the world as a file of the simulator, see awssim's Load. serving is the image of the
// running version.
func (w World) File(serving string) []byte {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("account: %q\nregion: %s\nsubnets: [%s]\nclusters: [%s]", w.Account, w.Region, strings.Join(w.Subnets, ", "),
		w.Cluster)
	w.writeCapacity(line)
	if all := w.NamespaceEntries(); len(all) > 0 {
		line("namespaces: %s", jsonText(all))
	}
	named := w.Named
	if w.Alarm {
		named.Alarms = appendNew(slices.Clone(named.Alarms), AlarmName)
	}
	named.write(line)
	knobs := "throttle: true"
	if w.Nodes > 0 {
		knobs += fmt.Sprintf(", %s: 0s..%s", w.propagationSetting(), w.Nodes)
	}
	if w.Start > 0 {
		knobs += fmt.Sprintf(", provisioning: 0s, pending: %s, activating: 0s", w.Start)
	}
	if w.Naming.Restores {
		knobs += ", ecsRestoresInstances: true"
	}
	knobs += w.Lags.settingsText()
	if w.UsesCloudMap() {
		line("knobs: {%s}", knobs)
		w.writeNamedService(line, serving)
		return []byte(b.String())
	}
	line("knobs: {%s}\ntargetGroups:", knobs)
	options := w.protocolText() + w.Capacity.groupText()
	w.Primary.writeGroup(line, w.Port, options)
	if w.Canary.ARN != "" {
		w.Canary.writeGroup(line, w.Port, options)
	}
	for _, g := range w.OtherGroups() {
		g.writeGroup(line, w.Port, options)
	}
	if w.OtherService {
		line("  - {name: others, port: 80%s}", w.protocolText())
	}
	if len(w.Listeners) > 0 {
		line("loadBalancers:\n  - name: %s\n    arn: %s\n%s    listeners:", balancerName(w.Balancer), w.Balancer,
			w.typeText())
		for _, l := range w.Listeners {
			w.writeListener(line, l)
		}
		w.writeTestListener(line)
		w.writeOtherListener(line)
		w.writeOtherListeners(line)
	}
	group := ""
	if w.Primary.ARN != "" {
		group = ", targetGroup: " + w.Primary.Name()
	}
	group += w.registryText() + w.Capacity.serviceText() + w.Scaling.serviceText(w.Tasks)
	if w.Percents != (Percents{}) {
		group += fmt.Sprintf(", minimumHealthyPercent: %d, maximumPercent: %d", w.Percents.Least, w.Percents.Most)
	}
	if w.Strategy.Service != nil {
		line("services:\n  - %s", jsonText(w.Strategy.serviceEntry(w, serving)))
	} else {
		line("services:\n  - {name: %s, controller: %s, count: %d, image: %q, port: %d, grace: %s%s}",
			w.Service, w.Controller, w.Tasks, serving, w.Port, w.Grace, group)
	}
	if w.OtherService {
		line("  - {name: others, controller: ECS, count: 2, image: \"sim/others:v1\", port: 80, targetGroup: others}")
	}
	w.writeDeployer(line)
	w.writeFunctions(line)
	w.Scaling.writeTargets(line, w.Service)
	return []byte(b.String())
}

// writeGroup writes the group with further options.
func (g Group) writeGroup(line func(string, ...any), port int32, options string) {
	if g.ARN == "" {
		return
	}
	line("  - {name: %s, arn: %s, port: %d, deregistrationDelay: %s%s, healthCheck: {%s, interval: %s, timeout: "+
		"%s, healthy: %d, unhealthy: %d}}",
		g.Name(), g.ARN, port, g.Drain, options, g.checkText(), g.Interval, g.Timeout, g.Healthy, g.Unhealthy)
}

func (w World) writeListener(line func(string, ...any), l Listener) {
	line("      - port: %d", l.Port)
	if l.ARN != "" {
		line("        arn: %s", l.ARN)
	}
	fallback := "        fixed: {status: 404, body: none}"
	var rules []string
	for _, r := range l.Rules {
		if r.Priority == 0 {
			fallback = "        " + w.forwardText(r)
			continue
		}
		arn := ""
		if r.ARN != "" {
			arn = ", arn: " + r.ARN
		}
		rules = append(rules, fmt.Sprintf("          - {priority: %d, path: [%q], %s%s}", r.Priority, r.Path,
			strings.ReplaceAll(w.forwardText(r), "\n       ", ","), arn))
	}
	line("%s", fallback)
	if w.CanaryOnlyRule {
		rules = append(rules, fmt.Sprintf("          - {priority: %d, path: [\"/marked\"], forward: {%s: 1}}",
			CanaryRulePriority, w.Canary.Name()))
	}
	for n, r := range w.OtherRulesOf(l) {
		rules = append(rules, r.text(n))
	}
	if w.OtherService && !w.UsesNetworkBalancer() {
		rules = append(rules, `          - {priority: 49000, path: ["/others"], forward: {others: 1}}`)
	}
	if len(rules) > 0 {
		line("        rules:\n%s", strings.Join(rules, "\n"))
	}
}

func (w World) forwardText(r Rule) string {
	s := fmt.Sprintf("forward: {%s: %d, %s: %d}", w.Primary.Name(), r.Primary, w.Canary.Name(), r.Canary)
	if r.Alone || w.Canary.ARN == "" {
		s = fmt.Sprintf("forward: {%s: 1}", w.Primary.Name())
	}
	if r.Sticky > 0 {
		s += fmt.Sprintf("\n        stickiness: %s", r.Sticky)
	}
	return s
}

func balancerName(arn string) string {
	parts := strings.Split(arn, "/")
	if len(parts) < 4 {
		return arn
	}
	return parts[2]
}
