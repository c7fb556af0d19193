package awssim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// capacityFile is the capacity of a cluster.
type capacityFile struct {
	Cluster string `yaml:"cluster"`
	// Instances is how many container instances it has, spread over the zones. Absent: one in each
	// zone as soon as a task of launch type EC2 needs them.
	Instances int `yaml:"instances"`
	// CPU is the number of CPU units of each of these instances, which its tasks share. Absent: without
	// limit, like memory.
	CPU int `yaml:"cpu"`
	// Memory is the memory of each of these instances in MiB.
	Memory int `yaml:"memory"`
	// Providers are the capacity providers of the cluster: FARGATE, FARGATE_SPOT, or any other name for
	// one with an Auto Scaling group.
	Providers []string `yaml:"capacityProviders"`
	// Strategy is the cluster's default strategy.
	Strategy []strategyFile `yaml:"defaultStrategy"`
}

type strategyFile struct {
	Provider string `yaml:"provider"`
	Weight   int32  `yaml:"weight"`
	Base     int32  `yaml:"base"`
}

// maxInstances is how many container instances a cluster of a world file may have.
const maxInstances = 5000

func (f *worldFile) checkCapacity() error {
	for i, c := range f.Capacity {
		at := fmt.Sprintf("capacity[%d]", i)
		switch {
		case c.Cluster == "" && len(f.Clusters) != 1:
			return invalidAt(at, "cluster is missing; it is optional if there is exactly one")
		case c.Cluster != "" && !slices.Contains(f.Clusters, c.Cluster):
			return invalidAt(at+".cluster", "there is no cluster %q; there are %s", c.Cluster,
				strings.Join(f.Clusters, ", "))
		case c.Instances < 0 || c.Instances > maxInstances:
			return invalidAt(at+".instances", "%d is not a number from 0 to %d", c.Instances, maxInstances)
		case (c.CPU != 0 || c.Memory != 0) && (c.CPU < 1 || c.Memory < 1 || c.Instances < 1):
			return invalidAt(at, "cpu, memory and instances are above 0 if cpu or memory is given")
		}
		for j, s := range c.Strategy {
			if !slices.Contains(c.Providers, s.Provider) {
				return invalidAt(fmt.Sprintf("%s.defaultStrategy[%d].provider", at, j),
					"%q is not one of its capacityProviders: %s", s.Provider, joinOrNone(c.Providers))
			}
		}
	}
	return nil
}

func (l *worldBuilder) addCapacity() error {
	for i, c := range l.file.Capacity {
		if err := l.addClusterCapacity(c, cmp.Or(c.Cluster, l.file.Clusters[0])); err != nil {
			return withPath(fmt.Sprintf("capacity[%d]", i), err)
		}
	}
	return nil
}

func (l *worldBuilder) addClusterCapacity(c capacityFile, cluster string) error {
	err := l.world.Do(world.KeyOf(l.ctx), func(tx *world.Tx) error {
		at, _ := tx.Clusters.Get(cluster)
		l.ecs.Scheduler().RegisterInstances(tx, at, c.Instances, world.Size{CPU: c.CPU, Memory: c.Memory})
		return nil
	})
	if err != nil || len(c.Providers) == 0 {
		return err
	}
	for _, name := range c.Providers {
		if err := l.createProvider(name); err != nil {
			return err
		}
	}
	in := &awsecs.PutClusterCapacityProvidersInput{Cluster: aws.String(cluster), CapacityProviders: c.Providers,
		DefaultCapacityProviderStrategy: []ecstypes.CapacityProviderStrategyItem{}}
	for _, s := range c.Strategy {
		in.DefaultCapacityProviderStrategy = append(in.DefaultCapacityProviderStrategy,
			ecstypes.CapacityProviderStrategyItem{CapacityProvider: aws.String(s.Provider), Weight: s.Weight, Base: s.Base})
	}
	_, err = send(l.ctx, l, l.ecs.PutClusterCapacityProviders, in)
	return err
}

// createProvider creates a capacity provider unless it exists, as those of Fargate do.
func (l *worldBuilder) createProvider(name string) error {
	out, err := send(l.ctx, l, l.ecs.DescribeCapacityProviders, &awsecs.DescribeCapacityProvidersInput{
		CapacityProviders: []string{name}})
	if err != nil || len(out.CapacityProviders) > 0 {
		return err
	}
	_, err = send(l.ctx, l, l.ecs.CreateCapacityProvider, &awsecs.CreateCapacityProviderInput{Name: aws.String(name),
		AutoScalingGroupProvider: &ecstypes.AutoScalingGroupProvider{AutoScalingGroupArn: aws.String(
			world.KeyOf(l.ctx).ARN("autoscaling",
				"autoScalingGroup:00000000-0000-0000-0000-000000000000:autoScalingGroupName/"+name))}})
	return err
}
