package definition

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

// ServiceFromAWS returns a described service as the request that creates it. The members that belong
// to task sets come from the PRIMARY task set if the service has task sets.
func ServiceFromAWS(live *ecstypes.Service) (*Service, error) {
	data, err := json.Marshal(jsonValue(reflect.ValueOf(live)))
	if err != nil {
		return nil, err
	}
	s, err := DecodeService("service "+aws.ToString(live.ServiceArn), data)
	if err != nil {
		return nil, err
	}
	s.takeFromTaskSet(live)
	s.dropDerivedMembers()
	return s, nil
}

// takeFromTaskSet sets the members that AWS returns with the PRIMARY task set only. A platform
// version there may be that of LATEST at the time, so it is not taken.
func (s *Service) takeFromTaskSet(live *ecstypes.Service) {
	in := s.Input
	for _, set := range live.TaskSets {
		if aws.ToString(set.Status) != "PRIMARY" {
			continue
		}
		s.setMemberIf("launchType", set.LaunchType != "" && len(set.CapacityProviderStrategy) == 0,
			func() { in.LaunchType = set.LaunchType })
		s.setMemberIf("capacityProviderStrategy", len(set.CapacityProviderStrategy) > 0,
			func() { in.CapacityProviderStrategy = set.CapacityProviderStrategy })
		s.setMemberIf("networkConfiguration", set.NetworkConfiguration != nil,
			func() { in.NetworkConfiguration = set.NetworkConfiguration })
		s.setMemberIf("serviceRegistries", len(set.ServiceRegistries) > 0,
			func() { in.ServiceRegistries = set.ServiceRegistries })
		s.setMemberIf("loadBalancers", len(set.LoadBalancers) > 0,
			func() { in.LoadBalancers = set.LoadBalancers })
		s.dropMember("platformVersion", func() { in.PlatformVersion = nil })
	}
}

// dropDerivedMembers removes members that AWS fills in and does not accept in a request, and tags of
// deployments.
func (s *Service) dropDerivedMembers() {
	in := s.Input
	s.dropMember("taskDefinition", func() { in.TaskDefinition = nil })
	if strings.Contains(aws.ToString(in.Role), ":role/aws-service-role/") {
		s.dropMember("role", func() { in.Role = nil })
	}
	if len(in.CapacityProviderStrategy) > 0 {
		s.dropMember("launchType", func() { in.LaunchType = "" })
	}
	if in.SchedulingStrategy == ecstypes.SchedulingStrategyDaemon {
		s.dropMember("desiredCount", func() { in.DesiredCount = nil })
	}
	if in.Tags = fileTags(in.Tags); len(in.Tags) == 0 {
		delete(s.Given, "tags")
	}
}

// TaskFromAWS returns a registered task definition and its tags as the request that registers it.
func TaskFromAWS(td *ecstypes.TaskDefinition, tags []ecstypes.Tag) *Task {
	t := TaskOf(td)
	t.Input.Tags = fileTags(tags)
	return t
}

// fileTags returns the tags that a file can set: those of AWS and of deployments are not among them.
func fileTags(tags []ecstypes.Tag) (all []ecstypes.Tag) {
	for _, t := range tags {
		if key := aws.ToString(t.Key); !strings.HasPrefix(key, "sluice:") && !strings.HasPrefix(key, "aws:") {
			all = append(all, t)
		}
	}
	return all
}

// WithAnyCount returns the definition without a desired count: a deployment of it keeps the count that the service has.
func (s *Service) WithAnyCount() *Service {
	in := *s.Input
	in.DesiredCount = nil
	given := maps.Clone(s.Given)
	delete(given, "desiredCount")
	out := *s
	out.Input, out.Given = &in, given
	return &out
}

// WithCount returns the definition with another desired count.
func (s *Service) WithCount(n int32) *Service {
	in := *s.Input
	in.DesiredCount = &n
	out := *s
	out.Input, out.Given = &in, maps.Clone(s.Given)
	out.Given["desiredCount"] = true
	return &out
}

func (s *Service) dropMember(name string, clear func()) {
	delete(s.Given, name)
	clear()
}

// FileJSON returns the definition for a file: [Task.JSON], indented and without the values that AWS
// fills in.
func (t *Task) FileJSON() ([]byte, error) {
	tree, _ := jsonValue(reflect.ValueOf(t.Input)).(map[string]any)
	if t.Input.NetworkMode == ecstypes.NetworkModeAwsvpc || t.Input.NetworkMode == ecstypes.NetworkModeHost {
		dropSameHostPorts(tree)
	}
	return indentedJSON(withoutDefaults(tree, taskDefaults(), ""))
}

// FileJSON returns the definition for a file: [Service.JSON], indented and without the values that
// AWS fills in.
func (s *Service) FileJSON() ([]byte, error) {
	tree := map[string]any{}
	v := reflect.ValueOf(s.Input).Elem()
	for _, m := range membersOf(v.Type()) {
		if s.Given[m.name] {
			tree[m.name] = jsonValue(v.Field(m.index))
		}
	}
	defaults := serviceRules(treeOf(s.Input)).defaults
	if c := s.Input.DeploymentConfiguration; c != nil && c.Strategy == ecstypes.DeploymentStrategyBlueGreen {
		delete(defaults, "deploymentConfiguration.bakeTimeInMinutes") // AWS requires it
	}
	return indentedJSON(withoutDefaults(tree, defaults, ""))
}

// indentedJSON writes a value for people: indented, and with < and & as they are.
func indentedJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}

// dropSameHostPorts removes host ports that the network mode derives from the container ports.
func dropSameHostPorts(task map[string]any) {
	containers, _ := task["containerDefinitions"].([]any)
	for _, c := range containers {
		container, _ := c.(map[string]any)
		ports, _ := container["portMappings"].([]any)
		for _, p := range ports {
			if port, ok := p.(map[string]any); ok && port["hostPort"] == port["containerPort"] {
				delete(port, "hostPort")
			}
		}
	}
}

// withoutDefaults returns a tree without empty values and without values that AWS uses if they are
// omitted. nil means that nothing is left.
func withoutDefaults(v any, defaults map[string]string, path string) any {
	switch v := v.(type) {
	case nil:
		return nil
	case map[string]any:
		out := map[string]any{}
		for k, member := range v {
			if w := withoutDefaults(member, defaults, joinPath(path, k)); w != nil {
				out[k] = w
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case []any:
		var out []any
		for _, item := range v {
			if w := withoutDefaults(item, defaults, path); w != nil {
				out = append(out, w)
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	}
	if d, ok := defaults[path]; ok && d == fmt.Sprint(v) {
		return nil
	}
	return v
}
