package upkeep

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
)

// Family is the task definitions of one name.
type Family struct {
	API  *awsecs.Client
	Name string
}

// ListActive returns the ACTIVE revisions, newest first.
func (f Family) ListActive(ctx context.Context) ([]ecs.Revision, error) {
	return f.list(ctx, ecstypes.TaskDefinitionStatusActive)
}

// ListInactive returns the deregistered revisions, newest first.
func (f Family) ListInactive(ctx context.Context) ([]ecs.Revision, error) {
	return f.list(ctx, ecstypes.TaskDefinitionStatusInactive)
}

// list returns the revisions of a status. ECS lists the families that have the name as a prefix.
func (f Family) list(ctx context.Context, status ecstypes.TaskDefinitionStatus) ([]ecs.Revision, error) {
	var all []ecs.Revision
	pages := awsecs.NewListTaskDefinitionsPaginator(f.API, &awsecs.ListTaskDefinitionsInput{FamilyPrefix: &f.Name,
		Sort: ecstypes.SortOrderDesc, Status: status})
	for pages.HasMorePages() {
		out, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("list revisions of %s: %w", f.Name, sluice.Inner(err))
		}
		for _, arn := range out.TaskDefinitionArns {
			if rev := (ecs.Revision{ARN: arn, Name: sluice.RevisionOf(arn)}); f.has(rev.Name) {
				all = append(all, rev)
			}
		}
	}
	return all, nil
}

func (f Family) has(revision string) bool { return strings.HasPrefix(revision, f.Name+":") }

// Users returns what uses each revision, in every cluster of the Region: "service prod/web" for a deployment or
// task set of a service, and "tasks in prod". ECS does not know of scheduled tasks that do not run now.
func (f Family) Users(ctx context.Context) (map[string][]string, error) {
	all := map[string][]string{}
	seen := map[string]bool{}
	use := func(arn *string, user string) {
		rev := sluice.RevisionOf(aws.ToString(arn))
		if key := rev + " " + user; f.has(rev) && !seen[key] {
			seen[key] = true
			all[rev] = append(all[rev], user)
		}
	}
	clusters, err := ecs.Service{API: f.API}.ListClusters(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range clusters {
		if err := f.readServices(ctx, c, use); err != nil {
			return nil, err
		}
		tasks, err := ecs.Service{API: f.API, Cluster: c}.TasksOfFamily(ctx, f.Name)
		if err != nil {
			return nil, err
		}
		for _, t := range tasks {
			use(&t.Revision, "tasks in "+sluice.ARNName(c))
		}
	}
	return all, nil
}

// maxDescribedServices is how many services DescribeServices takes.
const maxDescribedServices = 10

// readServices reports the revisions of all services of a cluster.
func (f Family) readServices(ctx context.Context, cluster string, use func(arn *string, user string)) error {
	pages := awsecs.NewListServicesPaginator(f.API, &awsecs.ListServicesInput{Cluster: &cluster,
		MaxResults: aws.Int32(maxDescribedServices)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("list services of %s: %w", sluice.ARNName(cluster), sluice.Inner(err))
		}
		if len(page.ServiceArns) == 0 {
			continue
		}
		out, err := f.API.DescribeServices(ctx, &awsecs.DescribeServicesInput{Cluster: &cluster, Services: page.ServiceArns})
		if err != nil {
			return fmt.Errorf("read services of %s: %w", sluice.ARNName(cluster), sluice.Inner(err))
		}
		for _, s := range out.Services {
			user := "service " + sluice.ARNName(cluster) + "/" + aws.ToString(s.ServiceName)
			use(s.TaskDefinition, user)
			for _, d := range s.Deployments {
				use(d.TaskDefinition, user)
			}
			for _, ts := range s.TaskSets {
				use(ts.TaskDefinition, user)
			}
		}
	}
	return nil
}

// maxDeleted is how many revisions DeleteTaskDefinitions takes.
const maxDeleted = 10

// Delete requests the deletion of INACTIVE revisions.
func (f Family) Delete(ctx context.Context, act sluice.Act, all []ecs.Revision) error {
	for len(all) > 0 {
		n := min(maxDeleted, len(all))
		var arns, names []string
		for _, rev := range all[:n] {
			arns, names = append(arns, rev.ARN), append(names, rev.Name)
		}
		w := sluice.Write{Operation: "ecs:DeleteTaskDefinitions", Resource: strings.Join(names, ",")}
		err := act(ctx, sluice.Attempt{Action: "delete revisions of " + f.Name, Planned: w, Actual: w},
			func(ctx context.Context) (string, error) {
				out, err := f.API.DeleteTaskDefinitions(ctx, &awsecs.DeleteTaskDefinitionsInput{TaskDefinitions: arns})
				if err == nil && len(out.Failures) > 0 {
					first := out.Failures[0]
					return "", fmt.Errorf("%s: %s", sluice.RevisionOf(aws.ToString(first.Arn)), aws.ToString(first.Reason))
				}
				return sluice.Plural(n, "revision"), err
			})
		if err != nil {
			return err
		}
		all = all[n:]
	}
	return nil
}
