package plan

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

// mergeRunInput returns base with each field replaced that over sets. It merges overrides and tags
// by their names.
func overlay(base, over *awsecs.RunTaskInput) *awsecs.RunTaskInput {
	out := *base
	if over == nil {
		return &out
	}
	if over.LaunchType != "" || len(over.CapacityProviderStrategy) > 0 {
		out.LaunchType, out.CapacityProviderStrategy = over.LaunchType, over.CapacityProviderStrategy
	}
	out.Count, out.Group = either(over.Count, out.Count), either(over.Group, out.Group)
	out.NetworkConfiguration = either(over.NetworkConfiguration, out.NetworkConfiguration)
	out.PlatformVersion = either(over.PlatformVersion, out.PlatformVersion)
	if over.PropagateTags != "" {
		out.PropagateTags = over.PropagateTags
	}
	out.EnableECSManagedTags = out.EnableECSManagedTags || over.EnableECSManagedTags
	out.EnableExecuteCommand = out.EnableExecuteCommand || over.EnableExecuteCommand
	if len(over.PlacementConstraints) > 0 {
		out.PlacementConstraints = over.PlacementConstraints
	}
	if len(over.PlacementStrategy) > 0 {
		out.PlacementStrategy = over.PlacementStrategy
	}
	if len(over.VolumeConfigurations) > 0 {
		out.VolumeConfigurations = over.VolumeConfigurations
	}
	out.Tags = byName(out.Tags, over.Tags, func(t ecstypes.Tag) string { return aws.ToString(t.Key) }, last)
	out.Overrides = overrides(out.Overrides, over.Overrides)
	return &out
}

func either[T any](over, base *T) *T {
	if over != nil {
		return over
	}
	return base
}

func overrides(base, over *ecstypes.TaskOverride) *ecstypes.TaskOverride {
	if base == nil || over == nil {
		return either(over, base)
	}
	out := *base
	out.Cpu, out.Memory = either(over.Cpu, out.Cpu), either(over.Memory, out.Memory)
	out.EphemeralStorage = either(over.EphemeralStorage, out.EphemeralStorage)
	out.ExecutionRoleArn, out.TaskRoleArn = either(over.ExecutionRoleArn, out.ExecutionRoleArn), either(over.TaskRoleArn, out.TaskRoleArn)
	if len(over.InferenceAcceleratorOverrides) > 0 {
		out.InferenceAcceleratorOverrides = over.InferenceAcceleratorOverrides
	}
	out.ContainerOverrides = byName(out.ContainerOverrides, over.ContainerOverrides, func(c ecstypes.ContainerOverride) string { return aws.ToString(c.Name) }, container)
	return &out
}

// mergeContainer merges two overrides of one container.
func container(base, over ecstypes.ContainerOverride) ecstypes.ContainerOverride {
	if over.Command != nil {
		base.Command = over.Command
	}
	base.Cpu, base.Memory = either(over.Cpu, base.Cpu), either(over.Memory, base.Memory)
	base.MemoryReservation = either(over.MemoryReservation, base.MemoryReservation)
	if over.EnvironmentFiles != nil {
		base.EnvironmentFiles = over.EnvironmentFiles
	}
	if over.ResourceRequirements != nil {
		base.ResourceRequirements = over.ResourceRequirements
	}
	base.Environment = byName(base.Environment, over.Environment, func(e ecstypes.KeyValuePair) string { return aws.ToString(e.Name) }, last)
	return base
}

// mergeByName returns base with the entries of over. An entry of the same name is merged, another
// one is appended.
func byName[T any](base, over []T, name func(T) string, merge func(base, over T) T) []T {
	out := slices.Clone(base)
	for _, o := range over {
		i := slices.IndexFunc(out, func(b T) bool { return name(b) == name(o) })
		if i < 0 {
			out = append(out, o)
			continue
		}
		out[i] = merge(out[i], o)
	}
	return out
}

func last[T any](_, over T) T { return over }
