package replica

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

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
	ownNames(&like)
	w := &World{File: like.Entries(), Task: app.Task, Definition: app.Service}
	w.Subnets = shape.SubnetsOf(app.Service)
	for i := range w.ScalableTargets {
		w.ScalableTargets[i].Policy = nil // the files have none
	}
	if err := w.addFilesService(app, like); err != nil {
		return nil, err
	}
	w.noteGroups(app, like.Primary)
	w.noteListeners(len(like.Listeners))
	w.noteNames(like.Capacity.Connect)
	w.noteDeployer(like)
	return w, nil
}

// fromTask returns the AWS that a standalone task expects.
func fromTask(app *appfile.Application) *World {
	w := &World{Task: app.Task, File: shape.File{Clusters: []string{app.ClusterName()},
		Subnets: app.Standalone.Subnets, Services: []shape.ServiceEntry{}}}
	w.Account, w.Region = shape.Place(app)
	w.AddApplication(app, w.Account, w.Region)
	w.noteSecrets()
	return w
}

// addFilesService adds the service of the files, with its previous version.
func (w *World) addFilesService(app *appfile.Application, like shape.World) error {
	s, err := shape.NewServiceEntry(like.Service, like.Cluster, like.Tasks, app.Task.JSON, app.Service.JSON)
	if err != nil {
		return err
	}
	for _, name := range app.ImagesOfService() {
		s, _ = s.WithImage(name, func(string) string { return name + ":" + PreviousTag })
		w.note("the files leave the image of %s to the service, which runs %s:%s here", name, name, PreviousTag)
	}
	s, ref := s.WithImage(shape.MainContainer(app), previousImage)
	if was := previousImage(ref); was != ref {
		w.note("the service runs %s before the first deployment; the files have %s", image.NameAndTag(was), image.NameAndTag(ref))
	}
	if p := app.Primary; p != nil && p.Container != "" && s.AWS["loadBalancers"] == nil {
		s.AWS["loadBalancers"] = []any{map[string]any{"targetGroupArn": p.ARN, "containerName": p.Container,
			"containerPort": p.Port}}
	}
	w.addService(s)
	if s.AWS["desiredCount"] == nil && s.AWS["schedulingStrategy"] != "DAEMON" {
		w.note("the files have no desiredCount: %s here", sluice.Plural(like.Tasks, "task"))
	}
	return nil
}

func (w *World) addService(s shape.ServiceEntry) {
	w.Services = append(w.Services, s)
	w.noteSecrets()
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

// ownNames gives the shape of a service the names and the paths of a copy.
func ownNames(like *shape.World) {
	like.Balancer = strings.Replace(like.Balancer, "/rehearsal/", "/"+balancerName(like.Service)+"/", 1)
	like.Deployer.Application = cmp.Or(like.Deployer.Application, like.Service)
	like.Deployer.Group = cmp.Or(like.Deployer.Group, like.Service)
	like.Capacity.Strategy = nil // the service has its own
	for _, l := range like.Listeners {
		for i := range l.Rules {
			l.Rules[i].Path += "/*"
		}
		l.Rules[len(l.Rules)-1].Path = "/*"
	}
}

// balancerName returns a valid name of a load balancer: at most 32 letters, digits and hyphens.
func balancerName(service string) string {
	name := strings.Trim(strings.ReplaceAll(service, "_", "-"), "-")
	return strings.TrimRight(name[:min(len(name), 32)], "-")
}

// noteGroups adds a note if the files do not say how targets are checked.
func (w *World) noteGroups(app *appfile.Application, g shape.Group) {
	if len(w.TargetGroups) > 0 && app.Rehearsal == nil {
		w.note("the files do not say how targets are checked and drained. AWS's defaults are used: a check every %s, "+
			"%d must pass, a drain of %s. To change them, set rehearse in the application file",
			shape.SecondsText(g.Interval), g.Healthy, shape.SecondsText(g.Drain))
	}
}

// noteListeners adds notes on the rules of which the files do not have the conditions, and on target groups of which the
// files name no listener. The first listeners of the load balancer have the rules of the callers.
func (w *World) noteListeners(first int) {
	for _, b := range w.LoadBalancers {
		for i, l := range b.Listeners {
			for _, r := range l.Rules {
				w.note("the files do not have the condition of listener rule %s: it matches %s here", path.Base(r.ARN), r.Path[0])
			}
			if i >= first && l.ARN == "" {
				w.note("target group %s is behind port %d: the files do not name its listener", l.Forward[0].Group, l.Port)
			}
		}
	}
}

// noteNames adds notes on the Cloud Map name and on the namespace of Service Connect.
func (w *World) noteNames(c shape.ConnectNamespace) {
	w.noteConnect(c)
	for _, n := range w.Namespaces {
		for _, r := range n.Services {
			for _, ttl := range r.Records {
				w.note("the files have no name for the Cloud Map service: callers resolve %s.%s here, with a TTL of %s",
					r.Name, n.Name, ttl)
			}
		}
	}
}

// noteDeployer adds notes on what the files do not have of CodeDeploy.
func (w *World) noteDeployer(like shape.World) {
	for _, c := range w.DeploymentConfigs {
		w.note("the files do not have the content of deployment configuration %s: 10%%, then the rest after 5 minutes "+
			"here", c.Name)
	}
	if len(w.Applications) > 0 {
		w.note("the second target group of CodeDeploy is %s here", like.Canary.Name())
	}
}
