// Package appspec builds and reads the AppSpec of a CodeDeploy deployment, which names the task
// definition, the container behind the load balancer and the hooks.
//
// Start reading at [New].
package appspec

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// MaxLength is the maximum length of an AppSpec that sluice sends, in bytes. AWS publishes no
// limit; five hooks and twenty subnets are a tenth of this.
const MaxLength = 100 << 10

// Hook is a Lambda function that CodeDeploy calls at a lifecycle event.
type Hook struct {
	Event    string // one of [HookEvents]
	Function string // name or ARN
}

// HookEvents are the lifecycle events that may have a hook, in their order (CodeDeploy
// User Guide, "AppSpec 'hooks' section for an Amazon ECS deployment").
func HookEvents() []string {
	return []string{"BeforeInstall", "AfterInstall", "AfterAllowTestTraffic", "BeforeAllowTraffic", "AfterAllowTraffic"}
}

// Spec is an AppSpec: the revision of a CodeDeploy deployment.
type Spec struct {
	Content string // JSON
	SHA256  string // of the content, in hexadecimal digits
}

// document is an AppSpec in AWS's own spelling (CodeDeploy User Guide, "AppSpec
// 'resources' section for Amazon ECS deployments").
type document struct {
	Version   json.Number           `json:"version"`
	Resources []map[string]resource `json:"Resources"`
	Hooks     []map[string]string   `json:"Hooks,omitempty"`
}

type resource struct {
	Type       string     `json:"Type"`
	Properties properties `json:"Properties"`
}

type properties struct {
	TaskDefinition   string `json:"TaskDefinition"`
	LoadBalancerInfo struct {
		ContainerName string `json:"ContainerName"`
		ContainerPort int32  `json:"ContainerPort"`
	} `json:"LoadBalancerInfo"`
	PlatformVersion          string             `json:"PlatformVersion,omitempty"`
	NetworkConfiguration     *network           `json:"NetworkConfiguration,omitempty"`
	CapacityProviderStrategy []capacityProvider `json:"CapacityProviderStrategy,omitempty"`
}

type network struct {
	AwsvpcConfiguration struct {
		Subnets        []string `json:"Subnets"`
		SecurityGroups []string `json:"SecurityGroups,omitempty"`
		AssignPublicIP string   `json:"AssignPublicIp,omitempty"`
	} `json:"AwsvpcConfiguration"`
}

type capacityProvider struct {
	Base             int32  `json:"Base"`
	CapacityProvider string `json:"CapacityProvider"`
	Weight           int32  `json:"Weight"`
}

// New builds the AppSpec that deploys a task definition, given by its ARN, to a service. It
// contains the container and port of the first load balancer, the network, the platform version,
// the capacity providers and the hooks. If CodeDeploy would refuse the AppSpec, New returns
// a *[sluice.Error].
func New(service *awsecs.CreateServiceInput, taskDefinition string, hooks []Hook) (Spec, error) {
	p := properties{TaskDefinition: taskDefinition, PlatformVersion: aws.ToString(service.PlatformVersion),
		NetworkConfiguration: networkOf(service)}
	if !strings.HasPrefix(taskDefinition, "arn:") {
		return Spec{}, specError(service, "", "the task definition %q is not an ARN", taskDefinition)
	}
	if err := p.setBalancer(service); err != nil {
		return Spec{}, err
	}
	for _, c := range service.CapacityProviderStrategy {
		p.CapacityProviderStrategy = append(p.CapacityProviderStrategy,
			capacityProvider{c.Base, aws.ToString(c.CapacityProvider), c.Weight})
	}
	list, err := hookList(service, hooks)
	if err != nil {
		return Spec{}, err
	}
	doc := document{Version: "0.0", Resources: []map[string]resource{{"TargetService": {"AWS::ECS::Service", p}}},
		Hooks: list}
	return doc.encodeSpec(service)
}

func specError(service *awsecs.CreateServiceInput, next, format string, args ...any) error {
	return &sluice.Error{Op: "build the AppSpec", Resource: aws.ToString(service.ServiceName),
		Err: fmt.Errorf(format, args...), Next: next}
}

// setBalancer sets container and port of the first load balancer: CodeDeploy shifts the traffic of
// one.
func (p *properties) setBalancer(service *awsecs.CreateServiceInput) error {
	if len(service.LoadBalancers) == 0 {
		return specError(service, "give loadBalancers in the service definition, or use controller ECS",
			"the service has no load balancer, and CodeDeploy requires one")
	}
	lb := service.LoadBalancers[0]
	p.LoadBalancerInfo.ContainerName, p.LoadBalancerInfo.ContainerPort = aws.ToString(lb.ContainerName),
		aws.ToInt32(lb.ContainerPort)
	switch {
	case aws.ToString(lb.TargetGroupArn) == "":
		return specError(service, "give targetGroupArn under loadBalancers",
			"the load balancer has no target group, and CodeDeploy shifts traffic between target groups")
	case p.LoadBalancerInfo.ContainerName == "" || p.LoadBalancerInfo.ContainerPort < 1 ||
		p.LoadBalancerInfo.ContainerPort > 65535:
		return specError(service, "give containerName and containerPort under loadBalancers",
			"the first load balancer has no container name and port")
	}
	return nil
}

func networkOf(service *awsecs.CreateServiceInput) *network {
	if service.NetworkConfiguration == nil || service.NetworkConfiguration.AwsvpcConfiguration == nil {
		return nil
	}
	v, n := service.NetworkConfiguration.AwsvpcConfiguration, &network{}
	n.AwsvpcConfiguration.Subnets, n.AwsvpcConfiguration.SecurityGroups = v.Subnets, v.SecurityGroups
	n.AwsvpcConfiguration.AssignPublicIP = string(v.AssignPublicIp)
	if v.AssignPublicIp == "" {
		n.AwsvpcConfiguration.AssignPublicIP = string(ecstypes.AssignPublicIpDisabled)
	}
	return n
}

// hookList returns the hooks in the order of the lifecycle, not of the file.
func hookList(service *awsecs.CreateServiceInput, hooks []Hook) (list []map[string]string, err error) {
	if why := CheckHooks(hooks); why != nil {
		return nil, specError(service, "", "%w", why)
	}
	for _, event := range HookEvents() {
		for _, h := range hooks {
			if h.Event == event {
				list = append(list, map[string]string{event: h.Function})
			}
		}
	}
	return list, nil
}

// CheckHooks returns an error for hooks that CodeDeploy does not accept.
func CheckHooks(hooks []Hook) error {
	seen := map[string]bool{}
	for _, h := range hooks {
		switch {
		case !slices.Contains(HookEvents(), h.Event):
			return fmt.Errorf("lifecycle event %s cannot have a hook; use one of %s", h.Event,
				strings.Join(HookEvents(), ", "))
		case h.Function == "":
			return fmt.Errorf("the hook of %s has no Lambda function: set its name or ARN, or remove the hook",
				h.Event)
		case seen[h.Event]:
			return fmt.Errorf("the lifecycle event %s has more than one hook", h.Event)
		}
		seen[h.Event] = true
	}
	return nil
}

func (a document) encodeSpec(service *awsecs.CreateServiceInput) (Spec, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(a); err != nil {
		return Spec{}, specError(service, "", "%w", err)
	}
	content := strings.TrimSuffix(b.String(), "\n")
	if len(content) > MaxLength {
		return Spec{},
			specError(service, "use fewer subnets, security groups and capacity providers, or shorter function names",
				"it has %d bytes; at most %d are sent", len(content), MaxLength)
	}
	return Spec{Content: content, SHA256: sha256Hex(content)}, nil
}

func sha256Hex(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// Read reads the task definition and the hooks of any AppSpec, in YAML or JSON.
func Read(content string) (taskDefinition string, hooks []Hook, err error) {
	src, err := definition.Parse("AppSpec", []byte(content))
	if err != nil {
		return "", nil, err
	}
	for _, r := range itemsOf(src.Root.Get("Resources")) {
		for _, e := range r.Entries {
			if td := e.Value.Get("Properties").Get("TaskDefinition"); td != nil {
				taskDefinition = td.Text
			}
		}
	}
	for _, h := range itemsOf(src.Root.Get("Hooks")) {
		for _, e := range h.Entries {
			hooks = append(hooks, Hook{e.Key, e.Value.Text})
		}
	}
	if taskDefinition == "" {
		return "", hooks, errors.New("the AppSpec has no task definition")
	}
	return taskDefinition, hooks, nil
}

func itemsOf(n *definition.Node) []*definition.Node {
	if n == nil {
		return nil
	}
	return n.Items
}
