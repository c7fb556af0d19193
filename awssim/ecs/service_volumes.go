package ecs

import (
	"slices"

	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// checkVolumes rejects volume configurations that AWS rejects (API Reference,
// ServiceVolumeConfiguration). The volumes are stored and have no content.
func (w *workload) checkVolumes() error {
	if len(w.volumes) > 1 {
		return invalidParameter("volumeConfigurations can have at most 1 items.")
	}
	for _, v := range w.volumes {
		if v.ManagedEBSVolume == nil {
			return invalidParameter("managedEBSVolume must be specified for volume configuration '%s'.", val(v.Name))
		}
		e := v.ManagedEBSVolume
		if err := checkVolume(w.definition, val(v.Name), val(e.RoleArn), e.SizeInGiB, e.SnapshotId); err != nil {
			return err
		}
	}
	return nil
}

// checkVolume checks the volume of that name against the task definition.
func checkVolume(d *world.TaskDefinition, name, role string, size *int32, snapshot *string) error {
	atLaunch := slices.ContainsFunc(docOfDefinition(d).def.Volumes, func(x ecstypes.Volume) bool {
		return val(x.Name) == name && val(x.ConfiguredAtLaunch)
	})
	switch {
	case !atLaunch:
		return invalidParameter("The volume '%s' must be in the task definition with configuredAtLaunch set to true.",
			name)
	case role == "":
		return invalidParameter("roleArn must be specified for the Amazon EBS volume '%s'.", name)
	case size == nil && val(snapshot) == "":
		return invalidParameter("Either sizeInGiB or snapshotId must be specified for the Amazon EBS volume '%s'.",
			name)
	}
	return nil
}

func checkTaskVolumes(d *world.TaskDefinition, volumes []ecstypes.TaskVolumeConfiguration) error {
	if len(volumes) > 1 {
		return invalidParameter("volumeConfigurations can have at most 1 items.")
	}
	for _, v := range volumes {
		if v.ManagedEBSVolume == nil {
			return invalidParameter("managedEBSVolume must be specified for volume configuration '%s'.", val(v.Name))
		}
		e := v.ManagedEBSVolume
		if err := checkVolume(d, val(v.Name), val(e.RoleArn), e.SizeInGiB, e.SnapshotId); err != nil {
			return err
		}
	}
	return nil
}
