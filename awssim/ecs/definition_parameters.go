package ecs

import (
	"path"
	"slices"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

// checkFargateParameters rejects parameters that Fargate does not support (Developer Guide, "Task
// definition differences for Fargate").
func checkFargateParameters(in *awsecs.RegisterTaskDefinitionInput) error {
	switch e := in.EphemeralStorage; {
	case in.PidMode != "" && in.PidMode != "task":
		return clientError("Tasks using the Fargate launch type do not support pidMode '%s'. The supported value for "+
			"pidMode is 'task'.", in.PidMode)
	case in.IpcMode != "":
		return clientError("Tasks using the Fargate launch type do not support the parameter 'ipcMode'.")
	case len(in.PlacementConstraints) > 0:
		return clientError("Placement constraints are not supported for tasks using the Fargate launch type.")
	case e != nil && (e.SizeInGiB < 21 || e.SizeInGiB > 200):
		return clientError("Ephemeral storage must be between 21 GiB and 200 GiB.")
	}
	for i := range in.ContainerDefinitions {
		c := &in.ContainerDefinitions[i]
		for _, x := range []struct {
			name string
			set  bool
		}{
			{"privileged", val(c.Privileged)}, {"links", len(c.Links) > 0}, {"hostname", val(c.Hostname) != ""},
			{"disableNetworking", val(c.DisableNetworking)}, {"dnsServers", len(c.DnsServers) > 0},
			{"dnsSearchDomains", len(c.DnsSearchDomains) > 0}, {"extraHosts", len(c.ExtraHosts) > 0},
			{"dockerSecurityOptions", len(c.DockerSecurityOptions) > 0},
		} {
			if x.set {
				return clientError("Container '%s': tasks using the Fargate launch type do not support the parameter "+
					"'%s'.", val(c.Name), x.name)
			}
		}
	}
	for _, v := range in.Volumes {
		if v.DockerVolumeConfiguration != nil || v.Host != nil && val(v.Host.SourcePath) != "" {
			return clientError("Volume '%s': tasks using the Fargate launch type do not support Docker volumes and "+
				"host source paths.", val(v.Name))
		}
	}
	return nil
}

// checkDefinitionVolumes rejects volumes without a name or with two configurations, and mount points
// of volumes that do not exist.
func checkDefinitionVolumes(in *awsecs.RegisterTaskDefinitionInput) error {
	var names []string
	for i := range in.Volumes {
		v := &in.Volumes[i]
		switch {
		case val(v.Name) == "":
			return clientError("Volume name should not be null or empty.")
		case slices.Contains(names, *v.Name):
			return clientError("Volume names must be unique: %s.", *v.Name)
		}
		names = append(names, *v.Name)
		if err := checkFileSystem(v); err != nil {
			return err
		}
	}
	for _, c := range in.ContainerDefinitions {
		for _, m := range c.MountPoints {
			if !slices.Contains(names, val(m.SourceVolume)) {
				return clientError("Unknown volume '%s'.", val(m.SourceVolume))
			}
		}
	}
	return nil
}

func checkFileSystem(v *ecstypes.Volume) error {
	efs := v.EfsVolumeConfiguration
	switch {
	case efs == nil:
		return nil
	case val(v.ConfiguredAtLaunch) || v.DockerVolumeConfiguration != nil || v.Host != nil && val(v.Host.SourcePath) != "":
		return clientError("Volume '%s' can have only one configuration.", *v.Name)
	case val(efs.FileSystemId) == "":
		return clientError("Volume '%s': fileSystemId should not be null or empty.", *v.Name)
	case efs.AuthorizationConfig == nil:
		return nil
	case efs.TransitEncryption != "ENABLED":
		return clientError("Volume '%s': transitEncryption must be ENABLED when authorizationConfig is specified.",
			*v.Name)
	case val(efs.AuthorizationConfig.AccessPointId) != "" && path.Clean("/"+val(efs.RootDirectory)) != "/":
		return clientError("Volume '%s': rootDirectory must be omitted or set to / when an access point is specified.",
			*v.Name)
	}
	return nil
}

// fillVolumes fills in AWS's default: the root of an EFS file system.
func fillVolumes(volumes []ecstypes.Volume) []ecstypes.Volume {
	for i := range volumes {
		if efs := volumes[i].EfsVolumeConfiguration; efs != nil && val(efs.RootDirectory) == "" {
			efs.RootDirectory = ptr("/")
		}
	}
	return orEmpty(volumes)
}
