package mode

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// warnOtherServices warns about other services whose tasks are registered under the same name.
// sluice does not manage them: a share is n of N tasks of this service.
func warnOtherServices(p *plan.Plan, live plan.AWSState) {
	if n := len(live.Neighbours); n > 0 {
		addWarning(p, "%s also registered under %s (%s): their tasks get a part of the requests; shares count only "+
			"tasks of %s",
			sluice.Plural(n, "other service"), p.Registry.FullName(), strings.Join(live.Neighbours, ", "), p.Service)
	}
}

// ServiceNames returns the names of the cluster and the service of an application.
func ServiceNames(app *appfile.Application) (cluster, service string) {
	return app.ClusterName(), aws.ToString(app.Service.Input.ServiceName)
}
