package plan

import (
	"cmp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
)

// warnOtherServices warns about other services whose tasks are registered under the same name.
// sluice does not manage them: a share is n of N tasks of this service.
func (p *Plan) warnOtherServices(live AWSState) {
	if n := len(live.Neighbours); n > 0 {
		p.addWarning("%s also registered under %s (%s): their tasks get a part of the requests; shares count only "+
			"tasks of %s",
			sluice.Plural(n, "other service"), p.Registry.FullName(), strings.Join(live.Neighbours, ", "), p.Service)
	}
}

// cacheTimeText returns how long a task must keep serving for callers that still get or cache its
// address: until the name servers follow a deregistration, and the TTL after that.
func (r Registry) cacheTimeText() string {
	if !r.HasDNS() {
		return "as long as callers cache the result,"
	}
	return FormatDuration(r.CacheExpiry())
}

// ServiceNames returns the names of the cluster and the service of an application.
func ServiceNames(app *appfile.Application) (cluster, service string) {
	return cmp.Or(sluice.ARNName(app.Cluster), "default"), aws.ToString(app.Service.Input.ServiceName)
}
