package ecs_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/ecs"
	"github.com/sluice-ecs/sluice/awssim/world"
)

type registration = awsecs.RegisterTaskDefinitionInput

func efs(root string) []ecstypes.Volume {
	return []ecstypes.Volume{{Name: aws.String("data"), EfsVolumeConfiguration: &ecstypes.EFSVolumeConfiguration{
		FileSystemId: aws.String("fs-1"), RootDirectory: aws.String(root)}}}
}

func TestParametersOfTaskDefinitionsAreRefused(t *testing.T) {
	b := newBench(t, world.Options{})
	for text, edit := range map[string]func(*registration, *ecstypes.ContainerDefinition){
		"Tasks using the Fargate launch type do not support pidMode 'host'. The supported value for pidMode is " +
			"'task'.": func(in *registration, _ *ecstypes.ContainerDefinition) {
			in.PidMode = "host"
		},
		"Container 'web': tasks using the Fargate launch type do not support the parameter 'privileged'.": func(
			_ *registration, c *ecstypes.ContainerDefinition) {
			c.Privileged = aws.Bool(true)
		},
		"Ephemeral storage must be between 21 GiB and 200 GiB.": func(in *registration, _ *ecstypes.ContainerDefinition) {
			in.EphemeralStorage = &ecstypes.EphemeralStorage{SizeInGiB: 20}
		},
		"Unknown volume 'cache'.": func(in *registration, c *ecstypes.ContainerDefinition) {
			in.Volumes, c.MountPoints = efs("/"), []ecstypes.MountPoint{{SourceVolume: aws.String("cache")}}
		},
		"Volume 'data': fileSystemId should not be null or empty.": func(in *registration,
			_ *ecstypes.ContainerDefinition) {
			in.Volumes = efs("/")
			in.Volumes[0].EfsVolumeConfiguration.FileSystemId = aws.String("")
		},
		"Invalid host port 70000 in container 'web'.": func(_ *registration, c *ecstypes.ContainerDefinition) {
			c.PortMappings[0].HostPort = aws.Int32(70000)
		},
	} {
		in := fargate("api", "web:1")
		edit(in, &in.ContainerDefinitions[0])
		refused(b.RegisterTaskDefinition(b.ctx, in))(t, "ClientException", text)
	}
	for text, in := range map[string]*registration{
		"When networkMode=host, the host ports and container ports in port mappings must match.": onInstances("host",
			"web:1", 80),
		"Port mappings are not supported when networkMode=none.": onInstances("none", "web:1", 0),
	} {
		refused(b.RegisterTaskDefinition(b.ctx, in))(t, "ClientException", text)
	}
	in := fargate("api", "web:1")
	in.PidMode, in.Volumes = "task", efs("")
	in.ContainerDefinitions[0].MountPoints = []ecstypes.MountPoint{{SourceVolume: aws.String("data")}}
	d := must(b.RegisterTaskDefinition(b.ctx, in))(t).TaskDefinition
	if d.PidMode != "task" || aws.ToString(d.Volumes[0].EfsVolumeConfiguration.RootDirectory) != "/" {
		t.Errorf("%+v", d)
	}
}

// atLaunch is a definition with a volume that services configure, and a named port.
func atLaunch() *registration {
	in := fargate("api", "web:1")
	in.Volumes = []ecstypes.Volume{{Name: aws.String("data"), ConfiguredAtLaunch: aws.Bool(true)}}
	in.ContainerDefinitions[0].PortMappings[0].Name = aws.String("http")
	return in
}

func ebs(name, role string) []ecstypes.ServiceVolumeConfiguration {
	return []ecstypes.ServiceVolumeConfiguration{{Name: aws.String(name),
		ManagedEBSVolume: &ecstypes.ServiceManagedEBSVolumeConfiguration{RoleArn: aws.String(role),
			SizeInGiB: aws.Int32(10)}}}
}

func connect(namespace, port string) *ecstypes.ServiceConnectConfiguration {
	return &ecstypes.ServiceConnectConfiguration{Enabled: true, Namespace: aws.String(namespace),
		Services: []ecstypes.ServiceConnectService{{PortName: aws.String(port)}}}
}

func TestVolumesAndServiceConnectAreStored(t *testing.T) {
	b := newBench(t, world.Options{})
	b.Do(func(tx *world.Tx) {
		tx.AddNamespace(&world.Namespace{ID: "ns-1", ARN: "arn:ns-1", Name: "shop", Kind: world.HTTPNamespace})
	})
	must(b.RegisterTaskDefinition(b.ctx, atLaunch()))(t)
	const role = "arn:aws:iam::123456789012:role/ebs"
	for text, edit := range map[string]func(*awsecs.CreateServiceInput){
		"InvalidParameterException: The volume 'cache' must be in the task definition with configuredAtLaunch set to " +
			"true.": func(in *awsecs.CreateServiceInput) { in.VolumeConfigurations = ebs("cache", role) },
		"InvalidParameterException: roleArn must be specified for the Amazon EBS volume 'data'.": func(
			in *awsecs.CreateServiceInput) {
			in.VolumeConfigurations = ebs("data", "")
		},
		"NamespaceNotFoundException: The specified namespace was not found: other": func(in *awsecs.CreateServiceInput) {
			in.ServiceConnectConfiguration = connect("other", "http")
		},
		"InvalidParameterException: The portName 'grpc' is not the name of a port mapping in the task definition.": func(
			in *awsecs.CreateServiceInput) {
			in.ServiceConnectConfiguration = connect("shop", "grpc")
		},
	} {
		in := rollingInput("api:1", 1, b.blue)
		edit(in)
		code, message, _ := strings.Cut(text, ": ")
		refused(b.CreateService(b.ctx, in))(t, code, message)
	}
	in := rollingInput("api:1", 1, b.blue)
	in.VolumeConfigurations, in.ServiceConnectConfiguration = ebs("data", role), connect("shop", "http")
	must(b.CreateService(b.ctx, in))(t)
	s := b.await("deployment", completed)
	d, first := s.Deployments[0], *s.Deployments[0].Id
	if len(d.VolumeConfigurations) != 1 || *d.ServiceConnectConfiguration.Namespace != "shop" {
		t.Errorf("%+v", d)
	}
	if r := b.revision(s.CurrentServiceRevisions[0].Arn); len(r.VolumeConfigurations) != 1 ||
		r.ServiceConnectConfiguration == nil {
		t.Errorf("%+v", r)
	}
	same := b.update(&awsecs.UpdateServiceInput{VolumeConfigurations: ebs("data", role),
		ServiceConnectConfiguration: connect("shop", "http")})
	if *same.Deployments[0].Id != first {
		t.Error("an update that changes nothing starts a deployment")
	}
	off := b.update(&awsecs.UpdateServiceInput{VolumeConfigurations: []ecstypes.ServiceVolumeConfiguration{},
		ServiceConnectConfiguration: &ecstypes.ServiceConnectConfiguration{}})
	if d := off.Deployments[0]; *d.Id == first || d.ServiceConnectConfiguration != nil || len(d.VolumeConfigurations) > 0 {
		t.Errorf("%+v", d)
	}
}

// What tools send with every update of a CODE_DEPLOY service although it changes nothing.
func TestUpdatesThatChangeNothingAreAccepted(t *testing.T) {
	b := newBench(t, world.Options{})
	b.deployedElsewhere(1)
	s := b.update(&awsecs.UpdateServiceInput{DesiredCount: aws.Int32(2),
		DeploymentConfiguration: &ecstypes.DeploymentConfiguration{
			DeploymentCircuitBreaker: &ecstypes.DeploymentCircuitBreaker{}, MaximumPercent: aws.Int32(150)},
		ServiceConnectConfiguration: &ecstypes.ServiceConnectConfiguration{},
		VolumeConfigurations:        []ecstypes.ServiceVolumeConfiguration{},
		VpcLatticeConfigurations:    []ecstypes.VpcLatticeConfiguration{}})
	if s.DesiredCount != 2 || *s.DeploymentConfiguration.MaximumPercent != 150 ||
		s.DeploymentConfiguration.DeploymentCircuitBreaker != nil {
		t.Errorf("%+v", s)
	}
	refused(b.UpdateService(b.ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("web"), Service: aws.String("api"),
		ServiceConnectConfiguration: connect("shop", "http")}))(t, invalidParameter,
		"Unable to update service connect configuration on services with a CODE_DEPLOY deployment controller. Use "+
			"AWS CodeDeploy to trigger a new deployment.")
}

func TestADrainingServiceShowsItsPrimary(t *testing.T) {
	b := newBench(t, world.Options{})
	b.rolling(1, nil)
	id := *b.service().Deployments[0].Id
	s := must(b.DeleteService(b.ctx, &awsecs.DeleteServiceInput{Cluster: aws.String("web"), Service: aws.String("api"),
		Force: aws.Bool(true)}))(t).Service
	if *s.Status != "DRAINING" || len(s.Deployments) != 1 || *s.Deployments[0].Id != id ||
		*s.Deployments[0].Status != "PRIMARY" || s.TaskDefinition == nil || len(s.LoadBalancers) != 1 {
		t.Errorf("%+v", s)
	}
	s = ptrTo(b.await("end", func(s ecstypes.Service) bool { return *s.Status == "INACTIVE" }))
	if len(s.Deployments) != 0 {
		t.Errorf("%+v", s.Deployments)
	}
}

func ptrTo[T any](v T) *T { return &v }

func TestGapsNameTheFieldsAndTheRefusals(t *testing.T) {
	in := rollingInput("api", 1, "group")
	in.DeploymentConfiguration = &ecstypes.DeploymentConfiguration{Strategy: "BLUE_GREEN"}
	in.ServiceConnectConfiguration = connect("shop", "http")
	d := atLaunch()
	got := map[string]bool{}
	for _, g := range ecs.Gaps(in, d) {
		got[g.String()] = g.Refused
	}
	want := map[string]bool{
		"serviceConnectConfiguration: no proxy routes requests by the names of Service Connect": false,
		"volumes: volumes have no content": false,
	}
	for text, isRefused := range want {
		if is, ok := got[text]; !ok || is != isRefused {
			t.Errorf("%s is missing or not as refused as it should be: %v", text, got)
		}
	}
	if len(got) != len(want) || len(ecs.Gaps(rollingInput("api", 1, "group"), fargate("api", "web:1"))) != 0 {
		t.Errorf("%v", got)
	}
}
