package session

import (
	"net/url"

	"github.com/sluice-ecs/sluice/internal/codedeploy"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// ServicePage returns the page of a service in the AWS console. It is empty if the endpoint is not AWS's.
func ServicePage(at journal.Endpoint, region, cluster, service string) string {
	if at.URL != "" || at.Unrecorded {
		return ""
	}
	return codedeploy.ConsoleAddress(region) + "/ecs/v2/clusters/" + url.PathEscape(cluster) + "/services/" +
		url.PathEscape(service) + "?region=" + url.QueryEscape(region)
}
