package pulumi

import (
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/sluice-ecs/sluice/internal/watch"
)

// property is one input of the resource.
type property struct {
	name     string
	required bool
	replaces bool                           // a change replaces the resource
	fallback *structpb.Value                // nil: none
	problem  func(v *structpb.Value) string // of a known value; "": none
}

// properties returns the inputs in the order of the documentation.
func properties() []property {
	return []property{
		{name: "clusterName", required: true, replaces: true, problem: textProblem},
		{name: "serviceName", required: true, replaces: true, problem: textProblem},
		{name: "desiredTaskDef", problem: textProblem},
		{name: "deploymentId", problem: textProblem},
		{name: "triggers", problem: func(*structpb.Value) string { return "" }},
		{name: "timeoutMs", problem: millisecondsProblem},
		{name: "bakeMs", problem: millisecondsProblem},
		{name: "failOnError", problem: boolProblem, fallback: structpb.NewBoolValue(true)},
		{name: "awsRegion", problem: textProblem},
		{name: "assumeRole", problem: roleProblem},
		{name: "endpoint", problem: endpointProblem},
	}
}

func textProblem(v *structpb.Value) string {
	s, ok := v.GetKind().(*structpb.Value_StringValue)
	switch {
	case !ok:
		return "must be a string, not " + kindOf(v)
	case strings.TrimSpace(s.StringValue) == "":
		return "must not be empty"
	}
	return ""
}

func boolProblem(v *structpb.Value) string {
	if _, ok := v.GetKind().(*structpb.Value_BoolValue); !ok {
		return "must be true or false, not " + kindOf(v)
	}
	return ""
}

func millisecondsProblem(v *structpb.Value) string {
	n, ok := v.GetKind().(*structpb.Value_NumberValue)
	switch {
	case !ok:
		return "must be a number of milliseconds, not " + kindOf(v)
	case !(n.NumberValue >= 1) || n.NumberValue > math.MaxInt64/float64(time.Millisecond):
		return fmt.Sprintf("must be a number of milliseconds of 1 or more, not %g", n.NumberValue)
	}
	return ""
}

func roleProblem(v *structpb.Value) string {
	if problem := textProblem(v); problem != "" {
		return problem
	}
	if !isRole(v.GetStringValue()) {
		return "must be the ARN of a role, such as arn:aws:iam::123456789012:role/deploy"
	}
	return ""
}

func endpointProblem(v *structpb.Value) string {
	if problem := textProblem(v); problem != "" {
		return problem
	}
	u, err := url.Parse(v.GetStringValue())
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "must be a URL such as http://127.0.0.1:4566"
	}
	return ""
}

// checkInputs returns the inputs with their defaults, and what is wrong with each property.
func checkInputs(news *structpb.Struct) (*structpb.Struct, []*pulumirpc.CheckFailure) {
	var failures []*pulumirpc.CheckFailure
	hide := newInputs(news).hide
	fail := func(name, reason string) {
		failures = append(failures, &pulumirpc.CheckFailure{Property: name, Reason: hide.Replace(reason)})
	}
	in := &structpb.Struct{Fields: maps.Clone(news.GetFields())}
	if in.Fields == nil {
		in.Fields = map[string]*structpb.Value{}
	}
	known := map[string]bool{}
	var names []string
	for _, p := range properties() {
		known[p.name], names = true, append(names, p.name)
		v := plainValue(in.Fields[p.name])
		switch {
		case isAbsent(v) && p.required:
			fail(p.name, "is required")
		case isAbsent(v) && p.fallback != nil:
			in.Fields[p.name] = p.fallback
		case isAbsent(v):
			delete(in.Fields, p.name)
		case isUnknown(v):
		default:
			if problem := p.problem(v); problem != "" {
				fail(p.name, problem)
			}
		}
	}
	for _, p := range nameProblems(in) {
		fail(inputOf[p.Part], p.Text)
	}
	if isAbsent(plainValue(in.Fields["desiredTaskDef"])) && isAbsent(plainValue(in.Fields["deploymentId"])) {
		fail("desiredTaskDef", "is required without deploymentId: give the ARN or family:revision that must serve")
	}
	for _, name := range slices.Sorted(maps.Keys(in.Fields)) {
		if !known[name] && !strings.HasPrefix(name, "__") { // the engine's own keys
			fail(name, "is not a property of this resource; it has "+strings.Join(names, ", "))
		}
	}
	return in, failures
}

// inputOf has the input of each part of a request.
var inputOf = map[watch.Part]string{watch.PartCluster: "clusterName", watch.PartService: "serviceName",
	watch.PartTaskDefinition: "desiredTaskDef", watch.PartDeployment: "deploymentId"}

// nameProblems returns what is wrong with the names and ARNs that are known.
func nameProblems(in *structpb.Struct) []watch.Problem {
	known := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for name, v := range plainStruct(in).GetFields() {
		if !isUnknown(v) && strings.TrimSpace(v.GetStringValue()) != "" {
			known.Fields[name] = v
		}
	}
	if known.Fields["clusterName"] == nil {
		return nil // a service is compared with its cluster
	}
	return inputs{plain: known}.newRequest().Problems()
}

// diffInputs returns the inputs that changed, without marks of secrets. A value that is not known yet may have changed.
func diffInputs(olds, news *structpb.Struct, ignored []string) (changed, replaces []string) {
	for _, p := range properties() {
		old, now := olds.GetFields()[p.name], news.GetFields()[p.name]
		if isEqual(old, now) || isIgnored(p.name, ignored) {
			continue
		}
		changed = append(changed, p.name)
		if p.replaces {
			replaces = append(replaces, p.name)
		}
	}
	return changed, replaces
}

// isIgnored reports whether ignoreChanges names the property or a part of it.
func isIgnored(name string, ignored []string) bool {
	return slices.ContainsFunc(ignored, func(path string) bool {
		return path == "*" || path == name || strings.HasPrefix(path, name+".") || strings.HasPrefix(path, name+"[")
	})
}

// newRequest returns the wait that the inputs ask for.
func (i inputs) newRequest() watch.Request {
	in := i.plain
	text := func(name string) string { return in.GetFields()[name].GetStringValue() }
	return watch.Request{Cluster: text("clusterName"), Service: text("serviceName"),
		TaskDefinition: text("desiredTaskDef"), Deployment: text("deploymentId"),
		Timeout: i.milliseconds("timeoutMs"), Bake: i.milliseconds("bakeMs"), Region: text("awsRegion"),
		AssumeRole: text("assumeRole"), EndpointURL: text("endpoint")}
}

// milliseconds returns the time of an input; 0: it is not given.
func (i inputs) milliseconds(name string) time.Duration {
	return time.Duration(i.plain.GetFields()[name].GetNumberValue() * float64(time.Millisecond))
}
