package verify

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

// Resources that definitions name. The checks require them, and a local AWS that is built from files has them.

// Role is a role that a definition names.
type Role struct {
	ARN    string
	Use    string // "execution role"
	Trusts string // the service that assumes it
}

// TaskRoles returns the roles of a task definition.
func TaskRoles(in *awsecs.RegisterTaskDefinitionInput) (all []Role) {
	if arn := aws.ToString(in.ExecutionRoleArn); arn != "" {
		all = append(all, Role{arn, "execution role", tasksService})
	}
	if arn := aws.ToString(in.TaskRoleArn); arn != "" {
		all = append(all, Role{arn, "task role", tasksService})
	}
	return all
}

// ServiceRoles returns the roles that ECS assumes for a service, by ARN.
func ServiceRoles(in *awsecs.CreateServiceInput) (all []Role) {
	uses := map[string]string{aws.ToString(in.Role): "service role"}
	for _, b := range in.LoadBalancers {
		if a := b.AdvancedConfiguration; a != nil {
			uses[aws.ToString(a.RoleArn)] = "load balancer role"
		}
	}
	if d := in.DeploymentConfiguration; d != nil {
		for _, h := range d.LifecycleHooks {
			uses[aws.ToString(h.RoleArn)] = "hook role"
		}
	}
	for _, v := range in.VolumeConfigurations {
		if v.ManagedEBSVolume != nil {
			uses[aws.ToString(v.ManagedEBSVolume.RoleArn)] = "volume role"
		}
	}
	delete(uses, "")
	for _, arn := range slices.Sorted(maps.Keys(uses)) {
		all = append(all, Role{arn, uses[arn], ecsService})
	}
	return all
}

// Secret is a secret that a container gets.
type Secret struct{ Name, ValueFrom string }

// Secrets returns the secrets of containers, of their logs and of their registries.
func Secrets(containers []ecstypes.ContainerDefinition) (all []Secret) {
	for _, d := range containers {
		from := slices.Clone(d.Secrets)
		if d.LogConfiguration != nil {
			from = append(from, d.LogConfiguration.SecretOptions...)
		}
		for _, s := range from {
			all = append(all, Secret{aws.ToString(s.Name) + " of container " + aws.ToString(d.Name), aws.ToString(s.ValueFrom)})
		}
		if r := d.RepositoryCredentials; r != nil {
			all = append(all, Secret{"of the registry of container " + aws.ToString(d.Name),
				aws.ToString(r.CredentialsParameter)})
		}
	}
	return all
}

// EnvironmentFiles returns the ARNs of the environment files of containers.
func EnvironmentFiles(containers []ecstypes.ContainerDefinition) (arns []string) {
	for _, d := range containers {
		for _, f := range d.EnvironmentFiles {
			arns = append(arns, aws.ToString(f.Value))
		}
	}
	slices.Sort(arns)
	return slices.Compact(arns)
}

// ObjectOf returns the bucket and the key in the ARN of an object of S3.
func ObjectOf(objectARN string) (bucket, key string, ok bool) {
	a, err := parseARN(objectARN)
	bucket, key, _ = strings.Cut(a.resource, "/")
	return bucket, key, err == nil && a.service == "s3" && key != ""
}

// HookFunctions returns the functions that ECS calls during a deployment of a service.
func HookFunctions(in *awsecs.CreateServiceInput) (arns []string) {
	if in.DeploymentConfiguration == nil {
		return nil
	}
	for _, h := range in.DeploymentConfiguration.LifecycleHooks {
		if f := aws.ToString(h.HookTargetArn); f != "" {
			arns = append(arns, f)
		}
	}
	return arns
}

// AlarmNames returns the alarms that ECS watches during a deployment of a service.
func AlarmNames(in *awsecs.CreateServiceInput) []string {
	if in.DeploymentConfiguration == nil {
		return nil
	}
	if a := in.DeploymentConfiguration.Alarms; a != nil && a.Enable {
		return a.AlarmNames
	}
	return nil
}

// Platform returns the platform of the tasks, such as "linux/amd64". Without runtimePlatform it is that of Fargate's
// default; instances of EC2 decide it otherwise, and are x86 in most clusters.
func Platform(in *awsecs.RegisterTaskDefinitionInput) string {
	os, architecture := "linux", "amd64"
	if p := in.RuntimePlatform; p != nil {
		if strings.HasPrefix(string(p.OperatingSystemFamily), "WINDOWS") {
			os = "windows"
		}
		if p.CpuArchitecture == ecstypes.CPUArchitectureArm64 {
			architecture = "arm64"
		}
	}
	return os + "/" + architecture
}
