package ecs

import (
	"cmp"
	"context"
	"slices"
	"strings"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// provider is a capacity provider. FARGATE and FARGATE_SPOT always exist and cannot be changed.
type provider struct {
	doc        ecstypes.CapacityProvider
	predefined bool
}

func providersOf(tx *world.Tx) *world.Ordered[*provider] {
	all := &stateOf(tx).providers
	if all.Len() == 0 {
		for _, name := range []string{"FARGATE", "FARGATE_SPOT"} {
			all.Put(name, &provider{predefined: true, doc: ecstypes.CapacityProvider{
				Name: ptr(name), CapacityProviderArn: ptr(tx.ARN("ecs", "capacity-provider/"+name)), Status: "ACTIVE",
				Type: ecstypes.CapacityProviderType(name),
			}})
		}
	}
	return all
}

// checkProviders rejects unknown capacity providers, and a strategy that uses other providers than
// those of the cluster.
func checkProviders(tx *world.Tx, names []string, strategy []ecstypes.CapacityProviderStrategyItem) error {
	for _, n := range names {
		if p, ok := providersOf(tx).Get(lastSegment(n)); !ok || p.doc.Status != "ACTIVE" {
			return invalidParameter("The specified capacity provider '%s' was not found.", n)
		}
	}
	return checkStrategy(names, strategy)
}

// maxStrategy is how many capacity providers a strategy may have (API Reference, CreateService).
const maxStrategy = 20

// checkStrategy rejects a strategy that AWS rejects. names are the cluster's capacity providers.
func checkStrategy(names []string, strategy []ecstypes.CapacityProviderStrategyItem) error {
	bases, weights, fargate, seen := 0, 0, 0, map[string]bool{}
	for _, x := range strategy {
		name := lastSegment(val(x.CapacityProvider))
		isName := func(s string) bool { return lastSegment(s) == name }
		switch {
		case !slices.ContainsFunc(names, isName):
			return invalidParameter("The specified capacity provider strategy cannot contain a capacity provider that " +
				"is not associated with the cluster. Associate the capacity provider with the cluster or specify a valid " +
				"capacity provider and try again.")
		case seen[name]:
			return invalidParameter("A capacity provider can only be specified once in a capacity provider strategy: %s.",
				name)
		case x.Weight < 0 || x.Weight > 1000:
			return invalidParameter("The capacity provider weight must be between 0 and 1000.")
		case x.Base < 0 || x.Base > 100_000:
			return invalidParameter("The capacity provider base must be between 0 and 100000.")
		}
		seen[name] = true
		bases, weights = bases+min(int(x.Base), 1), weights+int(x.Weight)
		if strings.HasPrefix(name, "FARGATE") {
			fargate++
		}
	}
	switch {
	case len(strategy) > maxStrategy:
		return invalidParameter("A capacity provider strategy can have at most %d capacity providers.", maxStrategy)
	case bases > 1:
		return invalidParameter("Only one capacity provider in a capacity provider strategy can have a base defined.")
	case len(strategy) > 1 && weights == 0:
		return invalidParameter("At least one capacity provider in a capacity provider strategy must have a weight " +
			"greater than 0.")
	case fargate > 0 && fargate < len(strategy):
		return invalidParameter("A capacity provider strategy cannot contain both Fargate and Auto Scaling group " +
			"capacity providers.")
	}
	return nil
}

func showProvider(p *provider, tags bool) ecstypes.CapacityProvider {
	d := deepCopy(p.doc)
	if !tags {
		d.Tags = []ecstypes.Tag{}
	}
	return d
}

// CreateCapacityProvider creates a capacity provider for an Auto Scaling group.
func (s *Service) CreateCapacityProvider(ctx context.Context,
	in *awsecs.CreateCapacityProviderInput) (*awsecs.CreateCapacityProviderOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.CreateCapacityProviderOutput, error) {
		name := val(in.Name)
		if !isName(name) || hasReservedPrefix(name) {
			return nil, invalidParameter("Invalid capacity provider name.")
		}
		if in.ManagedInstancesProvider != nil {
			return nil, notSimulated("Managed instances")
		}
		if in.AutoScalingGroupProvider == nil || val(in.AutoScalingGroupProvider.AutoScalingGroupArn) == "" {
			return nil, invalidParameter("The Auto Scaling group must be specified.")
		}
		if _, ok := providersOf(tx).Get(name); ok {
			return nil, clientError("A capacity provider with the name %s already exists.", name)
		}
		group := fillGroup(deepCopy(in.AutoScalingGroupProvider))
		if err := firstError(checkTags(in.Tags), checkScaling(group)); err != nil {
			return nil, err
		}
		p := &provider{doc: ecstypes.CapacityProvider{
			Name: ptr(name), CapacityProviderArn: ptr(tx.ARN("ecs", "capacity-provider/"+name)), Status: "ACTIVE",
			AutoScalingGroupProvider: group, Tags: deepCopy(in.Tags), Type: "EC2_AUTOSCALING",
		}}
		providersOf(tx).Put(name, p)
		return &awsecs.CreateCapacityProviderOutput{CapacityProvider: ptr(showProvider(p, true))}, nil
	})
}

// DescribeCapacityProviders returns the named capacity providers, or all, 10 at a time.
func (s *Service) DescribeCapacityProviders(ctx context.Context,
	in *awsecs.DescribeCapacityProvidersInput) (*awsecs.DescribeCapacityProvidersOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.DescribeCapacityProvidersOutput, error) {
		out := &awsecs.DescribeCapacityProvidersOutput{CapacityProviders: []ecstypes.CapacityProvider{},
			Failures: []ecstypes.Failure{}}
		all := providersOf(tx)
		names := in.CapacityProviders
		if len(names) == 0 {
			page, next, err := pageOf(all.Keys(), in.NextToken, int(val(in.MaxResults)), 10)
			if err != nil {
				return nil, err
			}
			names, out.NextToken = page, next
		}
		for _, n := range names {
			if p, ok := all.Get(lastSegment(n)); ok {
				out.CapacityProviders = append(out.CapacityProviders, showProvider(p, hasItem(in.Include, "TAGS")))
			} else {
				out.Failures = append(out.Failures, missingFailure(tx.ARN("ecs", "capacity-provider/"+lastSegment(n))))
			}
		}
		return out, nil
	})
}

// hasReservedPrefix reports whether a name begins as no capacity provider's may (API Reference,
// CreateCapacityProvider).
func hasReservedPrefix(name string) bool {
	lower := strings.ToLower(name)
	return strings.HasPrefix(lower, "aws") || strings.HasPrefix(lower, "ecs") || strings.HasPrefix(lower, "fargate")
}

// fillGroup fills in AWS's defaults (API Reference, ManagedScaling).
func fillGroup(g *ecstypes.AutoScalingGroupProvider) *ecstypes.AutoScalingGroupProvider {
	g.ManagedTerminationProtection = cmp.Or(g.ManagedTerminationProtection, "DISABLED")
	g.ManagedDraining = cmp.Or(g.ManagedDraining, "ENABLED")
	if g.ManagedScaling == nil {
		g.ManagedScaling = &ecstypes.ManagedScaling{Status: "DISABLED"}
	}
	m := g.ManagedScaling
	m.Status = cmp.Or(m.Status, "ENABLED")
	m.TargetCapacity, m.InstanceWarmupPeriod = orDefault(m.TargetCapacity, 100), orDefault(m.InstanceWarmupPeriod, 300)
	m.MinimumScalingStepSize = orDefault(m.MinimumScalingStepSize, 1)
	m.MaximumScalingStepSize = orDefault(m.MaximumScalingStepSize, 10_000)
	return g
}

// checkScaling rejects managed scaling outside of its ranges (API Reference, ManagedScaling).
func checkScaling(g *ecstypes.AutoScalingGroupProvider) error {
	m := g.ManagedScaling
	for _, x := range []struct {
		name   string
		value  *int32
		lo, hi int32
	}{
		{"targetCapacity", m.TargetCapacity, 1, 100}, {"minimumScalingStepSize", m.MinimumScalingStepSize, 1, 10_000},
		{"maximumScalingStepSize", m.MaximumScalingStepSize, 1, 10_000},
		{"instanceWarmupPeriod", m.InstanceWarmupPeriod, 0, 10_000},
	} {
		if v := val(x.value); v < x.lo || v > x.hi {
			return invalidParameter("The managed scaling %s must be between %d and %d.", x.name, x.lo, x.hi)
		}
	}
	if g.ManagedTerminationProtection == "ENABLED" && m.Status != "ENABLED" {
		return invalidParameter("Managed termination protection requires managed scaling to be enabled.")
	}
	return nil
}

func ownProvider(tx *world.Tx, id *string) (*provider, error) {
	p, ok := providersOf(tx).Get(lastSegment(val(id)))
	switch {
	case !ok:
		return nil, invalidParameter("The specified capacity provider was not found.")
	case p.predefined:
		return nil, invalidParameter("The specified capacity provider cannot be changed: it is reserved.")
	}
	return p, nil
}

// UpdateCapacityProvider changes the given fields.
func (s *Service) UpdateCapacityProvider(ctx context.Context,
	in *awsecs.UpdateCapacityProviderInput) (*awsecs.UpdateCapacityProviderOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.UpdateCapacityProviderOutput, error) {
		p, err := ownProvider(tx, in.Name)
		if err != nil {
			return nil, err
		}
		if u := deepCopy(in.AutoScalingGroupProvider); u != nil {
			g := *p.doc.AutoScalingGroupProvider
			if u.ManagedScaling != nil {
				g.ManagedScaling = u.ManagedScaling
			}
			g.ManagedTerminationProtection = cmp.Or(u.ManagedTerminationProtection, g.ManagedTerminationProtection)
			g.ManagedDraining = cmp.Or(u.ManagedDraining, g.ManagedDraining)
			fillGroup(&g)
			if err := checkScaling(&g); err != nil {
				return nil, err
			}
			p.doc.AutoScalingGroupProvider = &g
		}
		p.doc.UpdateStatus = "UPDATE_COMPLETE"
		return &awsecs.UpdateCapacityProviderOutput{CapacityProvider: ptr(showProvider(p, true))}, nil
	})
}

// DeleteCapacityProvider deletes a capacity provider that no cluster uses.
func (s *Service) DeleteCapacityProvider(ctx context.Context,
	in *awsecs.DeleteCapacityProviderInput) (*awsecs.DeleteCapacityProviderOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.DeleteCapacityProviderOutput, error) {
		p, err := ownProvider(tx, in.CapacityProvider)
		if err != nil {
			return nil, err
		}
		name := val(p.doc.Name)
		for _, c := range tx.Clusters.All() {
			if c.Status == "ACTIVE" && hasItem(docOfCluster(c).CapacityProviders, name) {
				return nil,
					clientError("The capacity provider cannot be deleted because it is associated with cluster: %s. "+
						"Remove the capacity provider from the cluster and try again.", c.Name)
			}
		}
		providersOf(tx).Delete(name)
		p.doc.Status, p.doc.UpdateStatus = "INACTIVE", "DELETE_COMPLETE"
		return &awsecs.DeleteCapacityProviderOutput{CapacityProvider: ptr(showProvider(p, true))}, nil
	})
}
