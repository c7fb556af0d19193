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
		p.addWarning("%s found under %s too (%s): their tasks take their part of the answers, and shares are of %s "+
			"alone",
			sluice.Plural(n, "other service"), p.Registry.FullName(), strings.Join(live.Neighbours, ", "), p.Service)
	}
}

// cacheTimeText returns how long a task must keep serving for callers that cache its address.
func (r Registry) cacheTimeText() string {
	if !r.HasDNS() {
		return "as long as callers keep what they found,"
	}
	return FormatDuration(r.TTL())
}

// ServiceNames returns the names of the cluster and the service of an application.
func ServiceNames(app *appfile.Application) (cluster, service string) {
	return cmp.Or(sluice.ARNName(app.Cluster), "default"), aws.ToString(app.Service.Input.ServiceName)
}
