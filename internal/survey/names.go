package survey

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/verify"
)

// readCluster is what could not be done if the cluster does not exist.
const readCluster = "read the cluster"

// nameClusters returns the error of a read of a service. If the cluster does not exist, it names the clusters that do.
// creates is the end of the next step where the cluster may be meant to be new.
func nameClusters(ctx context.Context, of ecs.Service, err error, creates string) error {
	if !ecs.IsClusterMissing(err) {
		return err
	}
	name := sluice.ARNName(of.Cluster)
	why := fmt.Sprintf("the cluster does not exist in Region %s", of.API.Options().Region)
	next := "correct the cluster's name or the Region" + creates
	arns, listErr := of.ListClusters(account.WithOptionalReads(ctx))
	if names := namesOf(arns); listErr == nil && len(names) > 0 {
		why += ", which has " + definition.ListNames(names)
		if near := definition.Nearest(name, names); near != "" {
			next = "correct the cluster's name: " + near + " exists"
		}
	}
	return &sluice.Error{Op: readCluster, Resource: name, Kind: sluice.NotFound, Err: errors.New(why), Next: next}
}

// NoClusterGiven returns the error of a command that names a service without its cluster, if there is no default cluster.
func NoClusterGiven(err error, command, service string) error {
	var problem *sluice.Error
	if !errors.As(err, &problem) || problem.Op != readCluster || problem.Kind != sluice.NotFound {
		return err
	}
	explained := *problem
	explained.Err = fmt.Errorf("no --cluster is given, and %w", problem.Err)
	explained.Next = "name the cluster too: " + command + " CLUSTER/" + service
	return &explained
}

// clusterError is nameClusters for the cluster of an application, which may be meant to be new. It asks for the account
// of the credentials, also if AWS denies the read: if the files name another one, the cluster is there.
func clusterError(ctx context.Context, a *account.Account, app *appfile.Application, of ecs.Service, err error) error {
	if sluice.KindOf(err) == sluice.Denied {
		if id, idErr := a.ID(account.WithOptionalReads(ctx)); idErr == nil {
			return cmp.Or(verify.CheckAccount(app, id), err)
		}
	}
	if !ecs.IsClusterMissing(err) {
		return err
	}
	if id, idErr := a.ID(account.WithOptionalReads(ctx)); idErr == nil {
		if other := verify.CheckAccountOfRoles(app, id); other != nil {
			return other
		}
	}
	return nameClusters(ctx, of, err, ", or create it: aws ecs create-cluster --cluster-name "+sluice.ARNName(of.Cluster))
}

// NameMissing returns the error of a call about a service. If the cluster or the service does not exist, it names those
// that do.
func NameMissing(ctx context.Context, of ecs.Service, err error) error {
	if ecs.IsServiceMissing(err) {
		return NoServiceError(ctx, of, "correct the service's name, or run sluice deploy to create it")
	}
	return nameClusters(ctx, of, err, "")
}

// NoServiceError returns the error if the service does not exist. It names the services of the cluster.
func NoServiceError(ctx context.Context, of ecs.Service, next string) error {
	why := "the service does not exist"
	names, near := NearServices(ctx, of)
	if names != "" {
		why += fmt.Sprintf("; cluster %s has %s", sluice.ARNName(of.Cluster), names)
	}
	if near != "" {
		next = near
	}
	return &sluice.Error{Op: "read the service", Resource: of.Resource(), Kind: sluice.NotFound, Err: errors.New(why),
		Next: next}
}

// NearServices returns the services of the cluster, for people, and the advice to use the one whose name is nearest to
// that of a missing service. Both are empty if they cannot be read, or there is none.
func NearServices(ctx context.Context, of ecs.Service) (names, next string) {
	all, err := of.ListNames(account.WithOptionalReads(ctx))
	if err != nil {
		return "", ""
	}
	if near := definition.Nearest(of.Name, all); near != "" {
		next = "correct the service's name: " + near + " exists"
	}
	return definition.ListNames(all), next
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
