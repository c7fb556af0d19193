package cloudmap

import (
	"cmp"
	"slices"
	"strings"
)

// otherService returns the ECS service, as cluster/service, to whose task an instance belongs, if
// it is not the one at p. AWS lets services share a registry. sluice does not change instances of
// another service, even if another deployment of sluice registered them.
func otherService(i Instance, p Place) string {
	service, cluster := i.Attributes["ECS_SERVICE_NAME"], cmp.Or(i.Attributes["ECS_CLUSTER_NAME"], p.Cluster)
	if service == "" || service == p.Service && cluster == p.Cluster {
		return ""
	}
	return cluster + "/" + service
}

// isSluiceInstance reports whether any deployment of sluice registered an instance for the service
// at p.
func isSluiceInstance(i Instance, p Place) bool {
	return strings.HasPrefix(i.ID, OwnPrefix) && otherService(i, p) == ""
}

// CountOwn counts the instances that deployments of sluice registered for the service at p.
func CountOwn(all []Instance, p Place) (n int) {
	for _, i := range all {
		if isSluiceInstance(i, p) {
			n++
		}
	}
	return n
}

// OtherServices returns the other ECS services whose tasks are among the instances.
func OtherServices(all []Instance, p Place) (names []string) {
	for _, i := range all {
		if n := otherService(i, p); n != "" && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return names
}
