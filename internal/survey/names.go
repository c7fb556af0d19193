package survey

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// maxNames is how many names an error lists.
const maxNames = 10

// nameClusters returns the error of a read of a service. If the cluster does not exist, it names the clusters that do.
func nameClusters(ctx context.Context, of ecs.Service, err error) error {
	if !ecs.IsClusterMissing(err) {
		return err
	}
	name := sluice.ARNName(of.Cluster)
	why := fmt.Sprintf("the cluster does not exist in Region %s", of.API.Options().Region)
	next := "correct the cluster in the application's files, or create it: aws ecs create-cluster --cluster-name " + name
	arns, listErr := of.ListClusters(account.WithOptionalReads(ctx))
	if names := namesOf(arns); listErr == nil && len(names) > 0 {
		why += ", which has " + listNames(names)
		if near := definition.Nearest(name, names); near != "" {
			next = "correct the cluster in the application's files: " + near + " exists"
		}
	}
	return &sluice.Error{Op: "plan", Resource: name, Kind: sluice.NotFound, Err: fmt.Errorf("%s: %w", why, err), Next: next}
}

// surveyServiceNames reads the names of the services of the cluster if the service of the file does not exist. A plan names
// them. They are optional: a denial changes nothing else.
func surveyServiceNames(ctx context.Context, of ecs.Service, live *plan.AWSState) {
	if live.ServiceStatus() == "ACTIVE" || live.ServiceStatus() == "DRAINING" {
		return
	}
	names, err := of.ListNames(account.WithOptionalReads(ctx))
	if err == nil {
		live.Services = names
	}
}

func namesOf(arns []string) (all []string) {
	for _, arn := range arns {
		all = append(all, sluice.ARNName(arn))
	}
	return all
}

// listNames returns names for people, sorted and at most maxNames.
func listNames(names []string) string {
	names = slices.Sorted(slices.Values(names))
	if len(names) > maxNames {
		return strings.Join(names[:maxNames], ", ") + fmt.Sprintf(" and %d more", len(names)-maxNames)
	}
	return strings.Join(names, ", ")
}
