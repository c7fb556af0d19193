package cloudmap

import (
	"cmp"
	"slices"
	"strings"
)

// neighbour is the ECS service, as cluster/service, whose task an instance is, if
// it is not the one at p: AWS lets services share a registry. Its instances, also
// those that another deployment registered for it, are not ours to touch.
func neighbour(i Instance, p Place) string {
	service, cluster := i.Attributes["ECS_SERVICE_NAME"], cmp.Or(i.Attributes["ECS_CLUSTER_NAME"], p.Cluster)
	if service == "" || service == p.Service && cluster == p.Cluster {
		return ""
	}
	return cluster + "/" + service
}

// isOwn reports whether any deployment of sluice registered an instance for the
// service at p.
func isOwn(i Instance, p Place) bool {
	return strings.HasPrefix(i.ID, OwnPrefix) && neighbour(i, p) == ""
}

// OwnOf counts the instances that deployments of sluice registered for the service at p.
func OwnOf(all []Instance, p Place) (n int) {
	for _, i := range all {
		if isOwn(i, p) {
			n++
		}
	}
	return n
}

// Neighbours are the other ECS services whose tasks are among the instances.
func Neighbours(all []Instance, p Place) (names []string) {
	for _, i := range all {
		if n := neighbour(i, p); n != "" && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return names
}

// Neighbours are those of the last look.
func (d *Driver) Neighbours() []string { return d.live.neighbours }
