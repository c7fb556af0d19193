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

// Index has the deployment groups of ECS services, by service.
type Index struct {
	byService map[string][]GroupSettings // "<cluster>/<service>"
	searched  int                        // applications
}

// Search reads every deployment group of every ECS application, because CodeDeploy has no query for
// the group of a service. It takes one call per hundred applications and two per ECS application.
// One search serves all services of an account.
func (h Client) Search(ctx context.Context) (Index, error) {
	names, err := h.listApplications(ctx)
	if err != nil {
		return Index{}, err
	}
	return h.searchApplications(ctx, names)
}

func (h Client) searchApplications(ctx context.Context, applications []string) (Index, error) {
	var all []GroupSettings
	for _, a := range applications {
		found, err := h.listGroups(ctx, a)
		if err != nil {
			return Index{}, err
		}
		all = append(all, found...)
	}
	return IndexOf(len(applications), all...), nil
}

// IndexOf returns the index of the groups that a search of so many applications found.
func IndexOf(applications int, groups ...GroupSettings) Index {
	x := Index{byService: map[string][]GroupSettings{}, searched: applications}
	for _, s := range groups {
		x.byService[s.ownerKey()] = append(x.byService[s.ownerKey()], s)
	}
	return x
}

// listApplications returns the names of the ECS applications.
func (h Client) listApplications(ctx context.Context) ([]string, error) {
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

// listGroups returns the groups of an application; none if the application was deleted during the
// search.
func (h Client) listGroups(ctx context.Context, application string) ([]GroupSettings, error) {
	var names []string
	in := &awscd.ListDeploymentGroupsInput{ApplicationName: aws.String(application)}
	for {
		out, err := h.API.ListDeploymentGroups(ctx, in)
		if isAbsent(err) {
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
	all, err := h.readGroups(ctx, application, names)
	if isAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the deployment groups of %s: %w", application, sluice.Inner(err))
	}
	return all, nil
}

// isAbsent reports whether AWS does not know the requested resource.
func isAbsent(err error) bool {
	var application *cdtypes.ApplicationDoesNotExistException
	var group *cdtypes.DeploymentGroupDoesNotExistException
	var deployment *cdtypes.DeploymentDoesNotExistException
	var invalid *cdtypes.InvalidDeploymentIdException
	return errors.As(err, &application) || errors.As(err, &group) || errors.As(err, &deployment) ||
		errors.As(err, &invalid)
}

// GroupOf returns the only group of a service. want restricts the groups: its parts may be empty.
func (x Index) GroupOf(cluster, service string, want Group) (GroupSettings, error) {
	var fits []GroupSettings
	for _, s := range x.byService[serviceKey(cluster, service)] {
		if (want.Application == "" || want.Application == s.Application) && (want.Name == "" || want.Name == s.Name) {
			fits = append(fits, s)
		}
	}
	switch len(fits) {
	case 1:
		return fits[0], nil
	case 0:
		return GroupSettings{}, &sluice.Error{Op: "find the deployment group",
			Resource: serviceKey(cluster, service), Kind: sluice.NotFound,
			Err: fmt.Errorf("none of the deployment groups of %s deploys this service%s",
				sluice.Plural(x.searched, "application"), filterText(want)),
			Next: "create a CodeDeploy application for Amazon ECS with a deployment group of this service; sluice " +
				"creates none"}
	}
	names := make([]string, 0, len(fits))
	for _, s := range fits {
		names = append(names, s.Group.String())
	}
	slices.Sort(names)
	return GroupSettings{}, &sluice.Error{Op: "find the deployment group", Resource: serviceKey(cluster, service),
		Kind: sluice.Conflict,
		Err:  fmt.Errorf("%d deployment groups deploy this service: %s", len(fits), strings.Join(names, ", ")),
		Next: "name one: codedeploy: {applicationName: …, deploymentGroupName: …}"}
}

func filterText(want Group) string {
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

// Creators returns the IDs of the deployments that created task sets, in their order.
func Creators(sets []sluice.TaskSet) (all []string) {
	for _, ts := range sets {
		if ts.ExternalID != "" {
			all = append(all, ts.ExternalID)
		}
	}
	return all
}

// FindGroup returns the deployment group of a service. want may name it in part or not at all. by
// are the deployments that created the task sets of the service (their externalIds, newest first).
// They identify the group with two calls. Otherwise FindGroup searches the account. The error is of
// kind NotFound if there is none, Conflict if there are several.
func (h Client) FindGroup(ctx context.Context, want Group, cluster, service string, by []string) (GroupSettings,
	error) {
	if want.Application != "" && want.Name != "" {
		return h.ReadGroup(ctx, want, cluster, service)
	}
	if want == (Group{}) {
		if s, ok, err := h.GroupOfDeployments(ctx, by, cluster, service); ok || err != nil {
			return s, err
		}
	}
	if want.Application != "" {
		x, err := h.searchApplications(ctx, []string{want.Application})
		if err != nil {
			return GroupSettings{}, err
		}
		return x.GroupOf(cluster, service, want)
	}
	x, err := h.Search(ctx)
	if err != nil {
		return GroupSettings{}, err
	}
	return x.GroupOf(cluster, service, want)
}

// GroupOfDeployments returns the group of the newest of the deployments that AWS still knows. A
// service belongs to only one group (CodeDeploy quotas), so this is its group. ok is false if the
// deployments do not identify the group.
func (h Client) GroupOfDeployments(ctx context.Context, by []string, cluster, service string) (s GroupSettings, ok bool,
	err error) {
	for _, id := range by {
		if !strings.HasPrefix(id, "d-") {
			continue
		}
		d, err := h.GetDeployment(ctx, id)
		if err != nil || d == nil {
			return s, false, err
		}
		all, err := h.readGroups(ctx, d.Application, []string{d.Group})
		if isAbsent(err) {
			return s, false, nil
		}
		if err != nil {
			return s, false, fmt.Errorf("read deployment group %s/%s: %w", d.Application, d.Group, sluice.Inner(err))
		}
		if len(all) == 1 && all[0].ownerKey() == serviceKey(cluster, service) {
			return all[0], true, nil
		}
		return s, false, nil
	}
	return s, false, nil
}
