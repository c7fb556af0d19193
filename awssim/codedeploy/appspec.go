package codedeploy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/sluice-ecs/sluice/awssim/codedeployer"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// maxAppSpecBytes is the simulator's own limit; AWS documents none.
const maxAppSpecBytes = 100 << 10

// appSpec is an AppSpec for ECS, in YAML or JSON (User Guide, "AppSpec file
// structure for Amazon ECS deployments").
type appSpec struct {
	Version   any                   `yaml:"version"`
	Resources []map[string]resource `yaml:"Resources"`
	Hooks     []map[string]string   `yaml:"Hooks"`
}

type resource struct {
	Type       string     `yaml:"Type"`
	Properties properties `yaml:"Properties"`
}

type properties struct {
	TaskDefinition   string `yaml:"TaskDefinition"`
	LoadBalancerInfo struct {
		ContainerName string `yaml:"ContainerName"`
		ContainerPort int32  `yaml:"ContainerPort"`
	} `yaml:"LoadBalancerInfo"`
	PlatformVersion      string `yaml:"PlatformVersion"`
	NetworkConfiguration *struct {
		AwsvpcConfiguration struct {
			Subnets        []string `yaml:"Subnets"`
			SecurityGroups []string `yaml:"SecurityGroups"`
			AssignPublicIP string   `yaml:"AssignPublicIp"`
		} `yaml:"AwsvpcConfiguration"`
	} `yaml:"NetworkConfiguration"`
	CapacityProviderStrategy []struct {
		Base             int32  `yaml:"Base"`
		CapacityProvider string `yaml:"CapacityProvider"`
		Weight           int32  `yaml:"Weight"`
	} `yaml:"CapacityProviderStrategy"`
}

// hookEvents are the lifecycle events that may have a hook.
var hookEvents = []string{"BeforeInstall", "AfterInstall", "AfterAllowTestTraffic", "BeforeAllowTraffic",
	"AfterAllowTraffic"}

func badRevision(format string, args ...any) error {
	return world.Refuse("InvalidRevisionException", format, args...)
}

// readAppSpec parses an AppSpec. ECS checks its values during the deployment.
func readAppSpec(content string) (spec codedeployer.Spec, err error) {
	if len(content) > maxAppSpecBytes {
		return spec, badRevision("The AppSpec content has %d bytes; at most %d are allowed", len(content),
			maxAppSpecBytes)
	}
	var a appSpec
	if err := yaml.UnmarshalWithOptions([]byte(content), &a, yaml.Strict()); err != nil {
		return spec, badRevision("The AppSpec content is neither valid YAML nor JSON: %s", firstLine(err))
	}
	if v := fmt.Sprint(a.Version); v != "0" && v != "0.0" {
		return spec, badRevision("The version of the AppSpec file must be 0.0")
	}
	if len(a.Resources) != 1 || len(a.Resources[0]) != 1 {
		return spec, badRevision("The AppSpec file must have exactly one resource")
	}
	for _, r := range a.Resources[0] {
		if spec, err = readSpec(r); err != nil {
			return spec, err
		}
	}
	spec.Hooks, err = readHooks(a.Hooks)
	return spec, err
}

func firstLine(err error) string {
	var y yaml.Error
	if errors.As(err, &y) && y.GetToken() != nil {
		return fmt.Sprintf("line %d: %s", y.GetToken().Position.Line, y.GetMessage())
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

func readSpec(r resource) (spec codedeployer.Spec, err error) {
	p := r.Properties
	switch {
	case r.Type != "AWS::ECS::Service":
		return spec, badRevision("The type of the AppSpec file's resource must be AWS::ECS::Service")
	case !strings.HasPrefix(p.TaskDefinition, "arn:"):
		return spec, badRevision("The TaskDefinition of the AppSpec file must be the ARN of a task definition")
	case p.LoadBalancerInfo.ContainerName == "" || p.LoadBalancerInfo.ContainerPort < 1 ||
		p.LoadBalancerInfo.ContainerPort > 65535:
		return spec,
			badRevision("The LoadBalancerInfo of the AppSpec file must have a ContainerName and a ContainerPort")
	}
	spec = codedeployer.Spec{Definition: p.TaskDefinition, Container: p.LoadBalancerInfo.ContainerName,
		Port: p.LoadBalancerInfo.ContainerPort, Platform: p.PlatformVersion}
	if n := p.NetworkConfiguration; n != nil {
		v := n.AwsvpcConfiguration
		spec.Network = &world.Network{Subnets: v.Subnets, SecurityGroups: v.SecurityGroups, PublicIP: v.AssignPublicIP}
	}
	for _, c := range p.CapacityProviderStrategy {
		spec.Providers = append(spec.Providers, world.Provider{Name: c.CapacityProvider, Base: c.Base,
			Weight: c.Weight})
	}
	return spec, nil
}

func readHooks(list []map[string]string) (hooks []codedeployer.Hook, err error) {
	for _, h := range list {
		if len(h) != 1 {
			return nil, badRevision("Each item of the AppSpec file's Hooks must have exactly one lifecycle event")
		}
		for event, function := range h {
			switch {
			case !slices.Contains(hookEvents, event):
				return nil, badRevision("%s is not a lifecycle event that can have a hook; there are %s", event,
					strings.Join(hookEvents, ", "))
			case function == "":
				return nil, badRevision("The hook of %s names no Lambda function", event)
			case slices.ContainsFunc(hooks, func(x codedeployer.Hook) bool { return x.Event == event }):
				return nil, badRevision("The lifecycle event %s has more than one hook", event)
			}
			hooks = append(hooks, codedeployer.Hook{Event: event, Function: function})
		}
	}
	return hooks, nil
}
