package plan

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

// MergeRunInput returns base with each field replaced that over sets. It merges overrides and tags
// by their names.
func MergeRunInput(base, over *awsecs.RunTaskInput) *awsecs.RunTaskInput {
	out := *base
	if over == nil {
		return &out
	}
	if over.LaunchType != "" || len(over.CapacityProviderStrategy) > 0 {
		out.LaunchType, out.CapacityProviderStrategy = over.LaunchType, over.CapacityProviderStrategy
	}
	out.Count, out.Group = firstGiven(over.Count, out.Count), firstGiven(over.Group, out.Group)
	out.NetworkConfiguration = firstGiven(over.NetworkConfiguration, out.NetworkConfiguration)
	out.PlatformVersion = firstGiven(over.PlatformVersion, out.PlatformVersion)
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
	out.Tags = mergeByName(out.Tags, over.Tags, func(t ecstypes.Tag) string { return aws.ToString(t.Key) },
		replaceEntry)
	out.Overrides = mergeOverrides(out.Overrides, over.Overrides)
	return &out
}

func firstGiven[T any](over, base *T) *T {
	if over != nil {
		return over
	}
	return base
}

func mergeOverrides(base, over *ecstypes.TaskOverride) *ecstypes.TaskOverride {
	if base == nil || over == nil {
		return firstGiven(over, base)
	}
	out := *base
	out.Cpu, out.Memory = firstGiven(over.Cpu, out.Cpu), firstGiven(over.Memory, out.Memory)
	out.EphemeralStorage = firstGiven(over.EphemeralStorage, out.EphemeralStorage)
	out.ExecutionRoleArn, out.TaskRoleArn = firstGiven(over.ExecutionRoleArn, out.ExecutionRoleArn),
		firstGiven(over.TaskRoleArn, out.TaskRoleArn)
	if len(over.InferenceAcceleratorOverrides) > 0 {
		out.InferenceAcceleratorOverrides = over.InferenceAcceleratorOverrides
	}
	out.ContainerOverrides = mergeByName(out.ContainerOverrides, over.ContainerOverrides,
		func(c ecstypes.ContainerOverride) string { return aws.ToString(c.Name) }, mergeContainer)
	return &out
}

// mergeContainer merges two overrides of one container.
func mergeContainer(base, over ecstypes.ContainerOverride) ecstypes.ContainerOverride {
	if over.Command != nil {
		base.Command = over.Command
	}
	base.Cpu, base.Memory = firstGiven(over.Cpu, base.Cpu), firstGiven(over.Memory, base.Memory)
	base.MemoryReservation = firstGiven(over.MemoryReservation, base.MemoryReservation)
	if over.EnvironmentFiles != nil {
		base.EnvironmentFiles = over.EnvironmentFiles
	}
	if over.ResourceRequirements != nil {
		base.ResourceRequirements = over.ResourceRequirements
	}
	base.Environment = mergeByName(base.Environment, over.Environment,
		func(e ecstypes.KeyValuePair) string { return aws.ToString(e.Name) }, replaceEntry)
	return base
}

// mergeByName returns base with the entries of over. An entry of the same name is merged, another
// one is appended.
func mergeByName[T any](base, over []T, name func(T) string, merge func(base, over T) T) []T {
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

func replaceEntry[T any](_, over T) T { return over }
