package codedeploy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"

	"github.com/sluice-ecs/sluice"
)

// Index is the deployment groups of ECS services, by service.
type Index struct {
	byService map[string][]Settings // "<cluster>/<service>"
	searched  int                   // applications
}

// Search reads every deployment group of every application for ECS: CodeDeploy has
// no question for the group of a service. It takes one call per hundred
// applications and two for each that is for ECS. One search answers for all
// services of an account.
func (h Hand) Search(ctx context.Context) (Index, error) {
	names, err := h.applications(ctx)
	if err != nil {
		return Index{}, err
	}
	return h.searchIn(ctx, names)
}

func (h Hand) searchIn(ctx context.Context, applications []string) (Index, error) {
	var all []Settings
	for _, a := range applications {
		found, err := h.groupsOf(ctx, a)
		if err != nil {
			return Index{}, err
		}
		all = append(all, found...)
	}
	return IndexOf(len(applications), all...), nil
}

// IndexOf is the index of what a search of so many applications found.
func IndexOf(applications int, groups ...Settings) Index {
	x := Index{byService: map[string][]Settings{}, searched: applications}
	for _, s := range groups {
		x.byService[s.key()] = append(x.byService[s.key()], s)
	}
	return x
}

// applications are the names of those for ECS.
func (h Hand) applications(ctx context.Context) ([]string, error) {
	var all []string
	in := &awscd.ListApplicationsInput{}
	for {
		out, err := h.API.ListApplications(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("list CodeDeploy's applications: %w", sluice.Inner(err))
		}
		all = append(all, out.Applications...)
		if in.NextToken = out.NextToken; aws.ToString(in.NextToken) == "" {
			break
		}
	}
	var ours []string
	for batch := range slices.Chunk(all, batchGroups) {
		out, err := h.API.BatchGetApplications(ctx, &awscd.BatchGetApplicationsInput{ApplicationNames: batch})
		if err != nil {
			return nil, fmt.Errorf("read CodeDeploy's applications: %w", sluice.Inner(err))
		}
		for _, a := range out.ApplicationsInfo {
			if a.ComputePlatform == cdtypes.ComputePlatformEcs {
				ours = append(ours, aws.ToString(a.ApplicationName))
			}
		}
	}
	slices.Sort(ours)
	return ours, nil
}

// groupsOf are the groups of an application; none if it was deleted meanwhile.
func (h Hand) groupsOf(ctx context.Context, application string) ([]Settings, error) {
	var names []string
	in := &awscd.ListDeploymentGroupsInput{ApplicationName: aws.String(application)}
	for {
		out, err := h.API.ListDeploymentGroups(ctx, in)
		if absent(err) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list the deployment groups of %s: %w", application, sluice.Inner(err))
		}
		names = append(names, out.DeploymentGroups...)
		if in.NextToken = out.NextToken; aws.ToString(in.NextToken) == "" {
			break
		}
	}
	all, err := h.groups(ctx, application, names)
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the deployment groups of %s: %w", application, sluice.Inner(err))
	}
	return all, nil
}

// absent reports whether AWS does not know what was asked for.
func absent(err error) bool {
	var application *cdtypes.ApplicationDoesNotExistException
	var group *cdtypes.DeploymentGroupDoesNotExistException
	var deployment *cdtypes.DeploymentDoesNotExistException
	var invalid *cdtypes.InvalidDeploymentIdException
	return errors.As(err, &application) || errors.As(err, &group) || errors.As(err, &deployment) || errors.As(err, &invalid)
}

// Of is the one group of a service. want narrows it: its parts may be empty.
func (x Index) Of(cluster, service string, want Group) (Settings, error) {
	var fits []Settings
	for _, s := range x.byService[serviceKey(cluster, service)] {
		if (want.Application == "" || want.Application == s.Application) && (want.Name == "" || want.Name == s.Name) {
			fits = append(fits, s)
		}
	}
	switch len(fits) {
	case 1:
		return fits[0], nil
	case 0:
		return Settings{}, &sluice.Error{Op: "look for the deployment group", Resource: serviceKey(cluster, service), Kind: sluice.NotFound,
			Err:  fmt.Errorf("none of the deployment groups of %s deploys this service%s", sluice.Plural(x.searched, "application"), narrowed(want)),
			Next: "make a CodeDeploy application for Amazon ECS with a deployment group of this service; sluice makes none"}
	}
	names := make([]string, 0, len(fits))
	for _, s := range fits {
		names = append(names, s.Group.String())
	}
	slices.Sort(names)
	return Settings{}, &sluice.Error{Op: "look for the deployment group", Resource: serviceKey(cluster, service), Kind: sluice.Conflict,
		Err:  fmt.Errorf("%d deployment groups deploy this service: %s", len(fits), strings.Join(names, ", ")),
		Next: "name one: codedeploy: {applicationName: …, deploymentGroupName: …}"}
}

func narrowed(want Group) string {
	switch {
	case want.Application != "" && want.Name != "":
		return ", named " + want.String()
	case want.Application != "":
		return " in application " + want.Application
	case want.Name != "":
		return " under the name " + want.Name
	}
	return ""
}

// Find is the deployment group of a service. want may name it in part or not at
// all; by are the deployments that made the service's task sets (their externalIds,
// the newest first), which tell the group in two calls. Else the account is searched.
// It is of kind NotFound if there is none, Conflict if there are several.
func (h Hand) Find(ctx context.Context, want Group, cluster, service string, by []string) (Settings, error) {
	if want.Application != "" && want.Name != "" {
		return h.Named(ctx, want, cluster, service)
	}
	if want == (Group{}) {
		if s, ok, err := h.GroupBy(ctx, by, cluster, service); ok || err != nil {
			return s, err
		}
	}
	if want.Application != "" {
		x, err := h.searchIn(ctx, []string{want.Application})
		if err != nil {
			return Settings{}, err
		}
		return x.Of(cluster, service, want)
	}
	x, err := h.Search(ctx)
	if err != nil {
		return Settings{}, err
	}
	return x.Of(cluster, service, want)
}

// GroupBy asks which group made the newest of the deployments that AWS still knows.
// One service is in one group only (CodeDeploy quotas), so that this is the group.
// ok is false if that does not tell.
func (h Hand) GroupBy(ctx context.Context, by []string, cluster, service string) (s Settings, ok bool, err error) {
	for _, id := range by {
		if !strings.HasPrefix(id, "d-") {
			continue
		}
		d, err := h.Get(ctx, id)
		if err != nil || d == nil {
			return s, false, err
		}
		all, err := h.groups(ctx, d.Application, []string{d.Group})
		if absent(err) {
			return s, false, nil
		}
		if err != nil {
			return s, false, fmt.Errorf("read deployment group %s/%s: %w", d.Application, d.Group, sluice.Inner(err))
		}
		if len(all) == 1 && all[0].key() == serviceKey(cluster, service) {
			return all[0], true, nil
		}
		return s, false, nil
	}
	return s, false, nil
}
