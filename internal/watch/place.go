package watch

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/sluice-ecs/sluice"
)

// Part is what a name or an ARN of a request stands for.
type Part string

// Parts of a request.
const (
	PartCluster        Part = "cluster"
	PartService        Part = "service"
	PartTaskDefinition Part = "task definition"
	PartDeployment     Part = "deployment"
)

// Problem is why a name or an ARN cannot be right.
type Problem struct {
	Part Part
	Text string // after the name of the part: "is a service of cluster test, not of prod"
}

// longestName is the limit of AWS for the name of a cluster, a service or a family.
const longestName = 255

// Shapes of names at AWS.
var (
	nameShape       = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
	revisionShape   = regexp.MustCompile(`^[A-Za-z0-9_-]+(:[0-9]{1,10})?$`)
	deploymentShape = regexp.MustCompile(`^(d-[A-Za-z0-9]+|ecs-svc/[0-9]+|[A-Za-z0-9_-]{12,})$`)
)

// place is one part of a request, and the shape that it has without an ARN.
type place struct {
	part     Part
	value    string
	resource string // the first word of the last part of an ARN
	shape    *regexp.Regexp
	wanted   string // the shape in words
}

// hasShape reports whether the value can be a name or an id.
func (p place) hasShape() bool {
	family, _, _ := strings.Cut(p.value, ":")
	return len(family) <= longestName && p.shape.MatchString(p.value)
}

func (r Request) places() []place {
	return []place{
		{PartCluster, r.Cluster, "cluster", nameShape, "the name or ARN of a cluster"},
		{PartService, r.Service, "service", nameShape, "the name or ARN of a service"},
		{PartTaskDefinition, r.TaskDefinition, "task-definition", revisionShape,
			"family:revision or the ARN of a task definition"},
		{PartDeployment, r.Deployment, "service-deployment", deploymentShape,
			"the ARN or ID of a service deployment, ecs-svc/<number> or d-XXXXXXXXX"},
	}
}

// Problems returns what is wrong with the names and ARNs as far as that is known without a call: their shapes, and
// ARNs of another Region or cluster than the others. AWS is called with the name of a service, so that an ARN of
// another place would be read in the wrong one. A part that is empty has no problem.
func (r Request) Problems() (all []Problem) {
	region := r.Region
	for _, p := range r.places() {
		at, _, isARN := sluice.ARNPlace(p.value)
		kind, path, _ := strings.Cut(lastPart(p.value), "/")
		text := ""
		switch {
		case p.value == "":
			continue
		case isARN && (kind != p.resource || path == ""), !isARN && !p.hasShape():
			text = "is not " + p.wanted
		case isARN && region != "" && at != region:
			text = fmt.Sprintf("is an ARN of Region %s, not of %s", at, region)
		case isARN:
			region, text = at, r.otherCluster(p.part, path)
		}
		if text != "" {
			all = append(all, Problem{p.part, text})
		}
	}
	return all
}

// lastPart returns the resource of an ARN, such as "service/prod/web".
func lastPart(arn string) string {
	parts := strings.SplitN(arn, ":", 6)
	return parts[len(parts)-1]
}

// otherCluster returns a problem if the resource of an ARN belongs to another cluster. ARNs of the old format have no cluster.
func (r Request) otherCluster(part Part, path string) string {
	of, _, hasMore := strings.Cut(path, "/")
	cluster := cmp.Or(sluice.ARNName(r.Cluster), "default")
	isAlone := part == PartDeployment && r.Service == "" && r.Cluster == "" // it names cluster and service
	if part != PartService && part != PartDeployment || !hasMore || of == cluster || isAlone {
		return ""
	}
	return fmt.Sprintf("is a %s of cluster %s, not of %s", part, of, cluster)
}

// checkPlaces returns an error for names and ARNs that cannot be right in the Region of the calls.
func (t Target) checkPlaces(region string) error {
	r := Request{Cluster: t.Cluster, Service: t.Service, TaskDefinition: t.Revision, Deployment: t.Deployment,
		Region: region}
	for _, p := range r.Problems() {
		for _, of := range r.places() {
			if of.part == p.Part {
				return &sluice.Error{Op: "wait for a deployment", Resource: of.value,
					Err:  fmt.Errorf("the %s %s", p.Part, p.Text),
					Next: "give " + of.wanted + " of the Region and cluster that are read"}
			}
		}
	}
	return nil
}

// fillFromDeployment adds cluster and service from the ARN of a service deployment, which contains both.
func (t *Target) fillFromDeployment() {
	if cluster, service, ok := DeploymentPlace(t.Deployment); ok && t.Service == "" {
		t.Cluster, t.Service = cluster, service
	}
}

// DeploymentPlace returns the cluster and the service in the ARN of a service deployment.
func DeploymentPlace(deployment string) (cluster, service string, ok bool) {
	if !strings.HasPrefix(deployment, "arn:") {
		return "", "", false
	}
	parts := strings.Split(lastPart(deployment), "/")
	if len(parts) != 4 || parts[0] != "service-deployment" {
		return "", "", false
	}
	return parts[1], parts[2], true
}

// givenARNs returns the ARNs of the target.
func (t Target) givenARNs() (all []string) {
	for _, given := range []string{t.Cluster, t.Service, t.Revision, t.Deployment} {
		if strings.HasPrefix(given, "arn:") {
			all = append(all, given)
		}
	}
	return all
}

// errOtherAccount is the cause of an error if the service that is read belongs to another account than an ARN.
var errOtherAccount = errors.New("the ARN is of another account")

// checkAccount returns an error if the service that was read belongs to another account than a given ARN: another
// account may have a service of the same name.
func checkAccount(given []string, service string) error {
	_, live, ok := sluice.ARNPlace(service)
	for _, arn := range given {
		_, account, _ := sluice.ARNPlace(arn)
		if ok && account != live {
			return &sluice.Error{Op: "wait for a deployment", Resource: arn, Kind: sluice.NotFound,
				Err:  fmt.Errorf("%w than the service that is read: %s", errOtherAccount, live),
				Next: "use credentials or a role of account " + account}
		}
	}
	return nil
}
