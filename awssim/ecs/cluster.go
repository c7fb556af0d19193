package ecs

import (
	"context"
	"regexp"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

var nameForm = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// isName reports whether s can be the name of a cluster, service, family or container (API Reference: up to 255
// letters, digits, underscores and hyphens).
func isName(s string) bool { return len(s) <= 255 && nameForm.MatchString(s) }

// CreateCluster creates a cluster. An ACTIVE cluster of that name is returned unchanged.
func (s *Service) CreateCluster(ctx context.Context, in *awsecs.CreateClusterInput) (*awsecs.CreateClusterOutput,
	error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.CreateClusterOutput, error) {
		name := val(in.ClusterName)
		if name == "" {
			name = "default"
		}
		if !isName(name) {
			return nil, invalidParameter("Invalid cluster name.")
		}
		if c, ok := tx.Clusters.Get(name); ok && c.Status == "ACTIVE" {
			return &awsecs.CreateClusterOutput{Cluster: showCluster(tx, c, everyField)}, nil
		}
		if err := firstError(checkTags(in.Tags), checkClusterSettings(in.Settings),
			checkProviders(tx, in.CapacityProviders, in.DefaultCapacityProviderStrategy)); err != nil {
			return nil, err
		}
		c := &world.Cluster{ARN: tx.ARN("ecs", "cluster/"+name), Name: name, Status: "ACTIVE",
			Doc: newClusterDoc(tx, in)}
		tx.Clusters.Delete(name)
		tx.Clusters.Put(name, c)
		tx.Log("cluster", name, "created")
		return &awsecs.CreateClusterOutput{Cluster: showCluster(tx, c, everyField)}, nil
	})
}

func newClusterDoc(tx *world.Tx, in *awsecs.CreateClusterInput) *ecstypes.Cluster {
	d := &ecstypes.Cluster{
		CapacityProviders:               deepCopy(in.CapacityProviders),
		DefaultCapacityProviderStrategy: deepCopy(in.DefaultCapacityProviderStrategy),
		Configuration:                   deepCopy(in.Configuration), Tags: deepCopy(in.Tags),
		Settings: []ecstypes.ClusterSetting{{Name: "containerInsights",
			Value: ptr(effectiveSetting(tx, "containerInsights"))}},
	}
	setClusterSettings(d, in.Settings)
	setDefaults(d, in.ServiceConnectDefaults)
	return d
}

func setDefaults(d *ecstypes.Cluster, r *ecstypes.ClusterServiceConnectDefaultsRequest) {
	if r != nil {
		d.ServiceConnectDefaults = &ecstypes.ClusterServiceConnectDefaults{Namespace: deepCopy(r.Namespace)}
	}
}

// insights are the values of the setting containerInsights (API Reference, ClusterSetting).
var insights = []string{"enhanced", "enabled", "disabled"}

func checkClusterSettings(settings []ecstypes.ClusterSetting) error {
	for _, x := range settings {
		if x.Name == "containerInsights" && !hasItem(insights, val(x.Value)) {
			return invalidParameter("Invalid value for the setting containerInsights: %s.", val(x.Value))
		}
	}
	return nil
}

func setClusterSettings(d *ecstypes.Cluster, settings []ecstypes.ClusterSetting) {
	for _, x := range deepCopy(settings) {
		found := false
		for i := range d.Settings {
			if d.Settings[i].Name == x.Name {
				d.Settings[i], found = x, true
			}
		}
		if !found {
			d.Settings = append(d.Settings, x)
		}
	}
}

func docOfCluster(c *world.Cluster) *ecstypes.Cluster { return c.Doc.(*ecstypes.Cluster) }

// everyField includes every part of a cluster, as the calls that change a cluster do.
var everyField = []ecstypes.ClusterField{"ATTACHMENTS", "CONFIGURATIONS", "SETTINGS", "STATISTICS", "TAGS"}

func showCluster(tx *world.Tx, c *world.Cluster, include []ecstypes.ClusterField) *ecstypes.Cluster {
	d := deepCopy(*docOfCluster(c))
	d.RegisteredContainerInstancesCount = int32(len(c.Instances))
	d.ClusterArn, d.ClusterName, d.Status = ptr(c.ARN), ptr(c.Name), ptr(c.Status)
	countCluster(tx, c, &d)
	if !hasItem(include, "CONFIGURATIONS") {
		d.Configuration = nil
	}
	if !hasItem(include, "SETTINGS") {
		d.Settings = []ecstypes.ClusterSetting{}
	}
	if !hasItem(include, "TAGS") {
		d.Tags = nil
	}
	d.Tags, d.Statistics = orEmpty(d.Tags), []ecstypes.KeyValuePair{}
	d.CapacityProviders, d.DefaultCapacityProviderStrategy = orEmpty(d.CapacityProviders),
		orEmpty(d.DefaultCapacityProviderStrategy)
	return &d
}

func countCluster(tx *world.Tx, c *world.Cluster, d *ecstypes.Cluster) {
	for _, s := range tx.Services.All() {
		if s.Cluster == c && s.Status == "ACTIVE" {
			d.ActiveServicesCount++
		}
	}
	for _, t := range tx.Tasks.All() {
		switch {
		case t.Cluster != c:
		case t.LastStatus == "RUNNING":
			d.RunningTasksCount++
		case isPending(t):
			d.PendingTasksCount++
		}
	}
}

func hasItem[T comparable](list []T, x T) bool {
	for _, y := range list {
		if x == y {
			return true
		}
	}
	return false
}

// DescribeClusters returns up to 100 clusters by name or ARN, including INACTIVE ones.
func (s *Service) DescribeClusters(ctx context.Context,
	in *awsecs.DescribeClustersInput) (*awsecs.DescribeClustersOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.DescribeClustersOutput, error) {
		if len(in.Clusters) > 100 {
			return nil, invalidParameter("Clusters cannot have more than 100 elements.")
		}
		out := &awsecs.DescribeClustersOutput{Clusters: []ecstypes.Cluster{}, Failures: []ecstypes.Failure{}}
		ids := in.Clusters
		if len(ids) == 0 {
			ids = []string{"default"}
		}
		for _, id := range ids {
			c, ok := tx.Clusters.Get(lastSegment(id))
			if !ok || isARN(id) && id != c.ARN {
				out.Failures = append(out.Failures, missingFailure(tx.ARN("ecs", "cluster/"+lastSegment(id))))
				continue
			}
			out.Clusters = append(out.Clusters, *showCluster(tx, c, in.Include))
		}
		return out, nil
	})
}

// ListClusters lists ACTIVE clusters, 100 at a time.
func (s *Service) ListClusters(ctx context.Context, in *awsecs.ListClustersInput) (*awsecs.ListClustersOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.ListClustersOutput, error) {
		arns := []string{}
		for _, c := range tx.Clusters.All() {
			if c.Status == "ACTIVE" {
				arns = append(arns, c.ARN)
			}
		}
		page, next, err := pageOf(arns, in.NextToken, int(val(in.MaxResults)), 100)
		return &awsecs.ListClustersOutput{ClusterArns: page, NextToken: next}, err
	})
}

// DeleteCluster makes an empty cluster INACTIVE.
func (s *Service) DeleteCluster(ctx context.Context, in *awsecs.DeleteClusterInput) (*awsecs.DeleteClusterOutput,
	error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.DeleteClusterOutput, error) {
		c, err := clusterOf(tx, in.Cluster)
		if err != nil {
			return nil, err
		}
		for _, svc := range tx.Services.All() {
			if svc.Cluster == c && svc.Status != "INACTIVE" {
				return nil, world.Refuse("ClusterContainsServicesException",
					"The Cluster cannot be deleted while Services are active.")
			}
		}
		for _, t := range tx.Tasks.All() {
			if t.Cluster == c && t.LastStatus != "STOPPED" {
				return nil, world.Refuse("ClusterContainsTasksException",
					"The Cluster cannot be deleted while Tasks are active.")
			}
		}
		c.Status = "INACTIVE"
		tx.Log("cluster", c.Name, "deleted")
		return &awsecs.DeleteClusterOutput{Cluster: showCluster(tx, c, everyField)}, nil
	})
}

// UpdateCluster changes the given settings, configuration and defaults.
func (s *Service) UpdateCluster(ctx context.Context, in *awsecs.UpdateClusterInput) (*awsecs.UpdateClusterOutput,
	error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.UpdateClusterOutput, error) {
		c, err := clusterOf(tx, in.Cluster)
		if err := firstError(err, checkClusterSettings(in.Settings)); err != nil {
			return nil, err
		}
		d := docOfCluster(c)
		setClusterSettings(d, in.Settings)
		setDefaults(d, in.ServiceConnectDefaults)
		if in.Configuration != nil {
			d.Configuration = deepCopy(in.Configuration)
		}
		return &awsecs.UpdateClusterOutput{Cluster: showCluster(tx, c, everyField)}, nil
	})
}

// UpdateClusterSettings changes the given settings.
func (s *Service) UpdateClusterSettings(ctx context.Context,
	in *awsecs.UpdateClusterSettingsInput) (*awsecs.UpdateClusterSettingsOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.UpdateClusterSettingsOutput, error) {
		c, err := clusterOf(tx, in.Cluster)
		if err := firstError(err, checkClusterSettings(in.Settings)); err != nil {
			return nil, err
		}
		setClusterSettings(docOfCluster(c), in.Settings)
		return &awsecs.UpdateClusterSettingsOutput{Cluster: showCluster(tx, c, everyField)}, nil
	})
}

// PutClusterCapacityProviders replaces a cluster's capacity providers and its
// default strategy.
func (s *Service) PutClusterCapacityProviders(ctx context.Context,
	in *awsecs.PutClusterCapacityProvidersInput) (*awsecs.PutClusterCapacityProvidersOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.PutClusterCapacityProvidersOutput, error) {
		c, err := clusterOf(tx, in.Cluster)
		if err != nil {
			return nil, err
		}
		if err := checkProviders(tx, in.CapacityProviders, in.DefaultCapacityProviderStrategy); err != nil {
			return nil, err
		}
		d := docOfCluster(c)
		d.CapacityProviders = deepCopy(in.CapacityProviders)
		d.DefaultCapacityProviderStrategy = deepCopy(in.DefaultCapacityProviderStrategy)
		return &awsecs.PutClusterCapacityProvidersOutput{Cluster: showCluster(tx, c, everyField)}, nil
	})
}
