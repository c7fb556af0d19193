package plan

import (
	"cmp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
)

// warnNeighbours tells of other services whose tasks are found under the name.
// Nothing steers them: a share is n of N tasks of this service.
func (p *Plan) warnNeighbours(live Live) {
	if n := len(live.Neighbours); n > 0 {
		p.warning("%s found under %s too (%s): their tasks take their part of the answers, and shares are of %s alone",
			sluice.Plural(n, "other service"), p.Registry.FullName(), strings.Join(live.Neighbours, ", "), p.Service)
	}
}

// keptFor is how long an image has to serve on for callers who keep an address.
func (r Registry) keptFor() string {
	if !r.HasDNS() {
		return "as long as callers keep what they found,"
	}
	return Duration(r.TTL())
}

// Whereabouts are the names of an application's cluster and service.
func Whereabouts(app *appfile.Application) (cluster, service string) {
	return cmp.Or(sluice.ARNName(app.Cluster), "default"), aws.ToString(app.Service.Input.ServiceName)
}
