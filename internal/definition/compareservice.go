package definition

import (
	"maps"
	"reflect"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

// class is the AWS object that returns a member of a service definition.
type class int

const (
	unknownClass class = iota
	ofService          // on the service
	ofTaskSet          // on the task set if the controller is EXTERNAL, otherwise on the service
	ofGroups           // as ofTaskSet, but under EXTERNAL it comes from the application file
	ofDeployment       // on the PRIMARY deployment
	notCompared        // identifies the request, or is not returned by DescribeServices
)

// classOf returns the class of a member of CreateService. A test checks that every member has one.
func classOf(name string) class {
	switch name {
	case "availabilityZoneRebalancing", "cluster", "deploymentConfiguration", "deploymentController",
		"desiredCount", "enableECSManagedTags", "enableExecuteCommand", "healthCheckGracePeriodSeconds",
		"placementConstraints", "placementStrategy", "propagateTags", "role", "schedulingStrategy",
		"serviceName", "tags":
		return ofService
	case "capacityProviderStrategy", "launchType", "networkConfiguration", "platformVersion", "serviceRegistries":
		return ofTaskSet
	case "loadBalancers":
		return ofGroups
	case "serviceConnectConfiguration", "volumeConfigurations", "vpcLatticeConfigurations":
		return ofDeployment
	case "clientToken", "taskDefinition", "gatewayConnectors", "monitoring":
		return notCompared
	}
	return unknownClass
}

// CompareService returns the differences between a service definition and AWS's service, sorted by
// path. It compares only members that the file gives. It does not compare the task definition (see
// [CompareTask]), nor members that DescribeServices does not return (monitoring,
// gatewayConnectors). It compares tags with keys of the file, and those that an earlier file set
// (see [TagRecord]): other tags stay. If the controller is EXTERNAL, [CompareTaskSet] compares the members of task sets.
func CompareService(want *Service, have *ecstypes.Service) []Difference {
	in, has := treeOf(want.Input), treeOf(have)
	has["cluster"], has["role"] = has["clusterArn"], has["roleArn"]
	has["desiredCount"] = strconv.Itoa(int(have.DesiredCount))
	primary := treeOf(primaryDeployment(have))
	external := isExternal(want.Input.DeploymentController) || isExternal(have.DeploymentController)
	c := comparison{rules: serviceRules(in, has), namesNoGroups: want.namesNoGroups()}
	for _, name := range sortedKeys(want.Given) {
		if name == "tags" {
			c.compareTags(want.Input.Tags, have.Tags, want.IgnoredTags)
			continue
		}
		switch classOf(name) {
		case ofService:
			c.compareMember(name, in[name], has[name])
		case ofTaskSet, ofGroups:
			if !external {
				c.compareMember(name, in[name], has[name])
			}
		case ofDeployment:
			c.compareMember(name, in[name], primary[name])
		}
	}
	return c.sortedDifferences()
}

// SplitFixed splits the differences of a service that exists into those that UpdateService can change, and those of members
// that only CreateService sets (ECS API Reference, "UpdateService").
func SplitFixed(all []Difference) (changed, fixed []Difference) {
	for _, d := range all {
		switch TopLevelMember(d.Path) {
		case "role", "schedulingStrategy":
			fixed = append(fixed, d)
		default:
			changed = append(changed, d)
		}
	}
	return changed, fixed
}

// CompareTaskSet returns the differences between a task set and the given members of a service
// definition that belong to task sets, sorted by path. It does not compare a platform version of
// LATEST: the task set has the version that was the latest at its creation.
func CompareTaskSet(want *Service, have *ecstypes.TaskSet) []Difference {
	in, has := treeOf(want.Input), treeOf(have)
	c := comparison{rules: serviceRules(in, has), namesNoGroups: want.namesNoGroups()}
	for _, name := range sortedKeys(want.Given) {
		if classOf(name) != ofTaskSet || name == "platformVersion" && in[name] == "LATEST" {
			continue
		}
		c.compareMember(name, in[name], has[name])
	}
	return c.sortedDifferences()
}

// ComparePrimarySet is [CompareTaskSet] for the PRIMARY task set of a service, if it has one.
func ComparePrimarySet(want *Service, have *ecstypes.Service) []Difference {
	for i := range have.TaskSets {
		if set := &have.TaskSets[i]; aws.ToString(set.Status) == "PRIMARY" {
			return CompareTaskSet(want, set)
		}
	}
	return nil
}

// compareMember compares one top-level member.
func (c *comparison) compareMember(name string, want, have any) {
	switch name {
	case "networkConfiguration":
		if !c.namesNoGroups {
			have = withoutDefaultGroups(have, want)
		}
	case "serviceConnectConfiguration":
		fillDiscoveryNames(want)
		fillDiscoveryNames(have)
	}
	c.compareValues(c.rules.normalizeValue(want, name), c.rules.normalizeValue(have, name), name, name)
}

// namesNoGroups reports whether the definition has an empty list of security groups: it asks for the default group of
// the VPC. A definition without the list leaves the groups as they are.
func (s *Service) namesNoGroups() bool {
	n := s.Input.NetworkConfiguration
	return n != nil && n.AwsvpcConfiguration != nil && n.AwsvpcConfiguration.SecurityGroups != nil &&
		len(n.AwsvpcConfiguration.SecurityGroups) == 0
}

// treeOf returns the tree of an SDK struct; empty for a nil pointer.
func treeOf(v any) map[string]any {
	value := reflect.ValueOf(v)
	if value.IsNil() {
		return map[string]any{}
	}
	if t, ok := valueTree(value.Elem()).(map[string]any); ok {
		return t
	}
	return map[string]any{}
}

// serviceRules returns the rules of a service; those of a daemon differ.
func serviceRules(trees ...map[string]any) rules {
	r := rules{serviceDefaults(), listOrders()}
	for _, t := range trees {
		if t["schedulingStrategy"] == "DAEMON" {
			r.defaults["deploymentConfiguration.minimumHealthyPercent"] = "0"
			r.defaults["deploymentConfiguration.maximumPercent"] = "100"
		}
	}
	return r
}

func isExternal(c *ecstypes.DeploymentController) bool {
	return c != nil && c.Type == ecstypes.DeploymentControllerTypeExternal
}

// primaryDeployment returns the PRIMARY deployment of a service, or nil.
func primaryDeployment(s *ecstypes.Service) *ecstypes.Deployment {
	for i, d := range s.Deployments {
		if d.Status != nil && *d.Status == "PRIMARY" {
			return &s.Deployments[i]
		}
	}
	return nil
}

// withoutDefaultGroups returns have without the security groups that AWS chose because want names
// none.
func withoutDefaultGroups(have, want any) any {
	w, _ := want.(map[string]any)
	h, _ := have.(map[string]any)
	wvpc, _ := w["awsvpcConfiguration"].(map[string]any)
	hvpc, ok := h["awsvpcConfiguration"].(map[string]any)
	if !ok || wvpc["securityGroups"] != nil {
		return have
	}
	hvpc = maps.Clone(hvpc)
	delete(hvpc, "securityGroups")
	return map[string]any{"awsvpcConfiguration": hvpc}
}

// fillDiscoveryNames sets the names that Service Connect derives: the discovery name from the port
// name.
func fillDiscoveryNames(config any) {
	m, _ := config.(map[string]any)
	for _, s := range mapsOf(m["services"]) {
		if s["discoveryName"] == nil && s["portName"] != nil {
			s["discoveryName"] = s["portName"]
		}
	}
}
