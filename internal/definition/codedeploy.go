package definition

import (
	"slices"
	"strings"

	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

// UpdatedUnderCodeDeploy returns the members of a service that UpdateService changes under
// controller CODE_DEPLOY (ECS API Reference, "UpdateService"). enableExecuteCommand is not
// documented there; it was observed.
func UpdatedUnderCodeDeploy() []string {
	return []string{"desiredCount", "deploymentConfiguration", "healthCheckGracePeriodSeconds", "placementConstraints",
		"placementStrategy",
		"enableECSManagedTags", "enableExecuteCommand", "propagateTags"}
}

// InAppSpec returns the members of a service that an AppSpec changes (CodeDeploy User Guide,
// "AppSpec 'resources' section for Amazon ECS deployments").
func InAppSpec() []string {
	return []string{"networkConfiguration", "platformVersion", "capacityProviderStrategy", "loadBalancers"}
}

// CompareForCodeDeploy returns the differences between a service definition and a service that
// CodeDeploy deploys, sorted by path. It works as CompareService, but compares the members of task
// sets with the PRIMARY one. It does not compare the target group: a deployment group alternates
// between its two.
func CompareForCodeDeploy(want *Service, have *ecstypes.Service) []Difference {
	set := primarySet(have)
	if set == nil {
		set = &ecstypes.TaskSet{LoadBalancers: have.LoadBalancers}
	}
	var all []Difference
	for _, d := range CompareService(want, have) {
		if c := classOf(TopLevelMember(d.Path)); c != ofTaskSet && c != ofGroups && c != ofDeployment {
			all = append(all, d)
		}
	}
	all = append(all, CompareTaskSet(want, set)...)
	all = append(all, compareBalancer(want, set)...)
	slices.SortStableFunc(all, func(a, b Difference) int { return strings.Compare(a.Path, b.Path) })
	return all
}

// TopLevelMember returns the top-level member of a path: "networkConfiguration" of
// "networkConfiguration.awsvpcConfiguration.subnets".
func TopLevelMember(path string) string {
	if i := strings.IndexAny(path, ".["); i >= 0 {
		return path[:i]
	}
	return path
}

func primarySet(s *ecstypes.Service) *ecstypes.TaskSet {
	for i, ts := range s.TaskSets {
		if ts.Status != nil && *ts.Status == "PRIMARY" {
			return &s.TaskSets[i]
		}
	}
	return nil
}

// compareBalancer compares the container and the port behind the first load
// balancer.
func compareBalancer(want *Service, have *ecstypes.TaskSet) []Difference {
	if !want.Given["loadBalancers"] || len(want.Input.LoadBalancers) == 0 || len(have.LoadBalancers) == 0 {
		return nil
	}
	only := func(lb ecstypes.LoadBalancer) map[string]any {
		all := treeOf(&lb)
		return map[string]any{"containerName": all["containerName"], "containerPort": all["containerPort"]}
	}
	c := comparison{rules: serviceRules()}
	c.compareValues(only(want.Input.LoadBalancers[0]), only(have.LoadBalancers[0]), "loadBalancers", "loadBalancers")
	return c.differences
}
