package replica

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/image"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
)

// PreviousTag is the tag of the version that runs before the first deployment of the files.
const PreviousTag = "previous"

// FromFiles returns the AWS that an application's files expect, as it is before their deployment: the
// service runs their task definition with the image tag [PreviousTag]. Values that the files do not
// have are AWS's defaults, as in a rehearsal.
//
// A standalone task needs only its cluster and its network.
func FromFiles(app *appfile.Application) (*World, error) {
	if app.Service == nil {
		return fromTask(app), nil
	}
	like, err := shape.FromFiles(app)
	if err != nil {
		return nil, err
	}
	w := &World{Account: like.Account, Region: like.Region, Clusters: []string{like.Cluster},
		Task: app.Task, Definition: app.Service, Surroundings: like.Named}
	if n := app.Service.Input.NetworkConfiguration; n != nil && n.AwsvpcConfiguration != nil {
		w.Subnets = n.AwsvpcConfiguration.Subnets
	}
	if err := w.addFilesService(app, like); err != nil {
		return nil, err
	}
	w.addShapedGroups(app, like)
	w.addShapedBalancer(like)
	w.addShapedName(like)
	w.addCapacity(like.Capacity.Providers)
	w.addShapedDeployer(like)
	if like.Scaling.Max > 0 {
		w.ScalableTargets = []Scalable{{Service: like.Service, Cluster: like.Cluster, Min: like.Scaling.Min,
			Max: like.Scaling.Max}}
	}
	return w, nil
}

// fromTask returns the AWS that a standalone task expects.
func fromTask(app *appfile.Application) *World {
	w := &World{Clusters: []string{cmp.Or(sluice.ARNName(app.Cluster), "default")},
		Subnets: app.Standalone.Subnets, Services: []shape.ServiceEntry{}, Task: app.Task}
	w.Account, w.Region = shape.Place(app)
	w.AddApplication(app, w.Account, w.Region)
	w.noteSecrets()
	return w
}

// addFilesService adds the service of the files, with its previous version.
func (w *World) addFilesService(app *appfile.Application, like shape.World) error {
	task, err := shape.Members(app.Task.JSON())
	if err != nil {
		return err
	}
	service, err := shape.Members(app.Service.JSON())
	if err != nil {
		return err
	}
	for _, name := range app.ImagesOfService() {
		task, _ = shape.WithImage(task, name, func(string) string { return name + ":" + PreviousTag })
		w.note("the files leave the image of %s to the service, which runs %s:%s here", name, name, PreviousTag)
	}
	task, ref := shape.WithImage(task, shape.MainContainer(app), previousImage)
	if was := previousImage(ref); was != ref {
		w.note("the service runs %s before the first deployment; the files have %s", image.NameAndTag(was), image.NameAndTag(ref))
	}
	if p := app.Primary; p != nil && p.Container != "" && service["loadBalancers"] == nil {
		service["loadBalancers"] = []any{map[string]any{"targetGroupArn": p.ARN, "containerName": p.Container,
			"containerPort": p.Port}}
	}
	w.addService(shape.NewServiceEntry(like.Service, like.Cluster, like.Tasks, task, service))
	if service["desiredCount"] == nil && service["schedulingStrategy"] != "DAEMON" {
		w.note("the files have no desiredCount: %s here", sluice.Plural(like.Tasks, "task"))
	}
	return nil
}

func (w *World) addService(s shape.ServiceEntry) {
	w.Services = append(w.Services, s)
	w.noteSecrets()
}

// addCapacity adds the capacity providers of the cluster.
func (w *World) addCapacity(providers []string) {
	if len(providers) > 0 {
		w.Capacity = []Capacity{{w.Clusters[0], providers}}
	}
}

// noteConnect adds a note if the name of the Service Connect namespace is not known.
func (w *World) noteConnect(c shape.ConnectNamespace) {
	if slices.ContainsFunc(w.Namespaces, func(n shape.NamespaceEntry) bool { return c.ID != "" && n.ID == c.ID }) {
		w.note("the name of the Service Connect namespace %s is not read: it is %s here", c.ID, c.Name)
	}
}

// noteSecrets adds a note if containers have values that the local AWS does not read.
func (w *World) noteSecrets() {
	secrets, files := false, false
	for _, c := range w.Task.Input.ContainerDefinitions {
		secrets, files = secrets || len(c.Secrets) > 0, files || len(c.EnvironmentFiles) > 0
	}
	if secrets {
		w.note("%s: secrets: no effect on the local AWS: no secret is read, and the tasks start without them", w.Task.File)
	}
	if files {
		w.note("%s: environmentFiles: no effect on the local AWS: no file is read", w.Task.File)
	}
}

func (w *World) note(format string, args ...any) {
	w.Notes = append(w.Notes, fmt.Sprintf(format, args...))
}

// previousImage returns an image with the tag [PreviousTag]. A program of the host stays as it is.
func previousImage(ref string) string {
	if ref == "" || strings.HasPrefix(ref, "host:") {
		return ref
	}
	repository, _ := image.SplitReference(ref)
	return repository + ":" + PreviousTag
}

// addShapedGroups adds the target groups that the files name.
func (w *World) addShapedGroups(app *appfile.Application, like shape.World) {
	for _, g := range []shape.Group{like.Primary, like.Canary} {
		w.addShapedGroup(g, like)
	}
	for _, g := range like.OtherGroups() {
		w.addShapedGroup(g, like)
	}
	if len(w.TargetGroups) > 0 && app.Rehearsal == nil {
		w.note("the files do not say how targets are checked and drained. AWS's defaults are used: a check every %s, "+
			"%d must pass, a drain of %s. To change them, set rehearse in the application file", secondsText(like.Primary.Interval),
			like.Primary.Healthy, secondsText(like.Primary.Drain))
	}
}

func (w *World) addShapedGroup(g shape.Group, like shape.World) {
	if g.ARN == "" || w.hasGroup(g.ARN) {
		return
	}
	out := Group{Name: g.Name(), ARN: g.ARN, Port: like.Port, DeregistrationDelay: secondsText(g.Drain),
		HealthCheck: &HealthCheck{Interval: secondsText(g.Interval), Timeout: secondsText(g.Timeout),
			Healthy: g.Healthy, Unhealthy: g.Unhealthy}}
	if like.UsesNetworkBalancer() {
		out.Protocol = "TCP"
	}
	if like.Capacity.NetworkMode != "" {
		out.Type = "instance" // a task has the address of its container instance
	}
	if out.HealthCheck.Protocol = "HTTP"; g.TCP {
		out.HealthCheck.Protocol = "TCP"
	}
	w.TargetGroups = append(w.TargetGroups, out)
}

func (w *World) hasGroup(arn string) bool {
	return slices.ContainsFunc(w.TargetGroups, func(g Group) bool { return g.ARN == arn })
}

func secondsText(d time.Duration) string { return fmt.Sprintf("%ds", int(d/time.Second)) }

// addShapedBalancer adds the load balancer with the rules that the files name. Target groups of which the files name no
// rule get a listener each, because AWS requires a load balancer for the groups of a service.
func (w *World) addShapedBalancer(like shape.World) {
	if like.Primary.ARN == "" || len(like.Listeners) == 0 {
		return
	}
	b := Balancer{ARN: strings.Replace(like.Balancer, "/rehearsal/", "/"+balancerName(like.Service)+"/", 1)}
	b.Name = path.Base(path.Dir(b.ARN))
	if like.UsesNetworkBalancer() {
		b.Type = "network"
	}
	for _, l := range like.Listeners {
		b.Listeners = append(b.Listeners, w.shapedListener(l, like))
	}
	for _, l := range like.OtherListeners() {
		b.Listeners = append(b.Listeners, w.otherListener(l))
	}
	w.LoadBalancers = []Balancer{b}
}

// balancerName returns a valid name of a load balancer: at most 32 letters, digits and hyphens.
func balancerName(service string) string {
	name := strings.Trim(strings.Map(func(r rune) rune {
		if r == '_' {
			return '-'
		}
		return r
	}, service), "-")
	return strings.TrimRight(name[:min(len(name), 32)], "-")
}

func (w *World) shapedListener(l shape.Listener, like shape.World) Listener {
	out := Listener{Port: l.Port, ARN: l.ARN, Fixed: &Fixed{Status: 404, Body: "no rule of the files matches"}}
	for i, r := range l.Rules {
		forward := map[string]int{like.Primary.Name(): r.Primary}
		if like.Canary.ARN != "" && !r.Alone {
			forward[like.Canary.Name()] = r.Canary
		}
		if r.Priority == 0 {
			out.Fixed, out.Forward = nil, forward
			continue
		}
		at := "/*"
		if i < len(l.Rules)-1 {
			at = fmt.Sprintf("/rule%d/*", i+1)
		}
		out.Rules = append(out.Rules, Rule{Priority: r.Priority, ARN: r.ARN, Path: []string{at}, Forward: forward})
		w.note("the files do not have the condition of listener rule %s: it matches %s here", path.Base(r.ARN), at)
	}
	w.addOtherRules(&out, like.OtherRulesOf(l))
	return out
}

// otherListener returns a listener whose rules the main listener of the service does not have.
func (w *World) otherListener(l shape.OtherListener) Listener {
	out := Listener{Port: l.Port, ARN: l.ARN}
	if first := l.Rules[0]; first.IsDefault() {
		out.Forward = first.Weights()
		if first.ARN == "" {
			w.note("target group %s is behind port %d: the files do not name its listener", first.Groups[0].Name(), l.Port)
		}
		return out
	}
	out.Fixed = &Fixed{Status: 404, Body: "no rule of the files matches"}
	w.addOtherRules(&out, l.Rules)
	return out
}

// addOtherRules adds rules to a listener.
func (w *World) addOtherRules(l *Listener, rules []shape.OtherRule) {
	for n, r := range rules {
		priority, at := r.Place(n)
		l.Rules = append(l.Rules, Rule{Priority: priority, ARN: r.ARN, Path: []string{at}, Forward: r.Weights()})
		w.note("the files do not have the condition of listener rule %s: it matches %s here", path.Base(r.ARN), at)
	}
}

// addShapedName adds the Cloud Map name and the namespace of Service Connect.
func (w *World) addShapedName(like shape.World) {
	w.Namespaces = like.NamespaceEntries()
	w.noteConnect(like.Capacity.Connect)
	for _, n := range w.Namespaces {
		for _, r := range n.Services {
			for _, ttl := range r.Records {
				w.note("the files have no name for the Cloud Map service: callers resolve %s.%s here, with a TTL of %s",
					r.Name, n.Name, ttl)
			}
		}
	}
}

// addShapedDeployer adds what CodeDeploy has for the service.
func (w *World) addShapedDeployer(like shape.World) {
	if !like.UsesCodeDeploy() || len(w.LoadBalancers) == 0 {
		return
	}
	d := like.Deployer
	g := DeploymentGroup{Name: d.Group, Cluster: like.Cluster, Service: like.Service, Config: like.Config,
		TargetGroups: []string{like.Primary.Name(), like.Canary.Name()},
		Listener:     fmt.Sprintf("%s:%d", w.LoadBalancers[0].Name, like.Listeners[0].Port)}
	if g.Name == "" {
		g.Name = like.Service
	}
	app := Application{Name: d.Application, Groups: []DeploymentGroup{g}}
	if app.Name == "" {
		app.Name = like.Service
	}
	if d.CustomConfig != "" {
		w.DeploymentConfigs = []Config{{d.CustomConfig, 10, "5m"}}
		w.note("the files do not have the content of deployment configuration %s: 10%%, then the rest after 5 minutes "+
			"here", d.CustomConfig)
	}
	w.Applications = []Application{app}
	w.note("the second target group of CodeDeploy is %s here", like.Canary.Name())
}
