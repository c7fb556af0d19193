package definition

import (
	"encoding/json"
	"reflect"
	"slices"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

// Run is how tasks are run, as RunTask's request.
type Run struct {
	Input *awsecs.RunTaskInput
}

// whyNotAllowed returns why a file may not give a member of RunTask's request, or "".
func whyNotAllowed(member string) string {
	switch member {
	case "clientToken", "startedBy":
		return "sluice sets it to find the tasks that it started"
	case "taskDefinition":
		return "the application sets it"
	case "cluster":
		return "the application sets it with cluster or input.clusterArn"
	case "referenceId":
		return "AWS's own services use it"
	}
	return ""
}

// RunMembers returns the members of RunTask's request that a file may give.
func RunMembers() []string {
	return slices.DeleteFunc(memberNames(membersOf(reflect.TypeFor[awsecs.RunTaskInput]())),
		func(m string) bool { return whyNotAllowed(m) != "" })
}

// DecodeRun reads RunTask's members from a section of another file, named where in errors. The
// caller must hide secrets of src first, see [Source.HideSecrets].
func DecodeRun(src *Source, n *Node, where string) (*Run, []*Problem) {
	d := &decoder{src: src}
	in := &awsecs.RunTaskInput{}
	if n != nil && n.Kind != Null {
		d.decodeRoot(n, reflect.ValueOf(in).Elem(), rootOptions{what: where})
		for _, e := range n.Entries {
			if m, ok := memberByName(membersOf(reflect.TypeFor[awsecs.RunTaskInput]()), e.Key); ok &&
				whyNotAllowed(m.name) != "" {
				d.addProblem(src.AtKey(e, "%s.%s is not allowed here: %s", where, m.name, whyNotAllowed(m.name)))
			}
		}
		d.checkRun(n, in, where)
	}
	return &Run{Input: in}, d.problems
}

// checkRun refuses values that RunTask would refuse.
func (d *decoder) checkRun(n *Node, in *awsecs.RunTaskInput, where string) {
	if c := n.Find("count"); in.Count != nil && *in.Count < 1 {
		d.addProblem(d.src.At(c, "%s.count is a whole number from 1, and this is %d", where, *in.Count))
	}
	if in.PropagateTags == "SERVICE" {
		d.addProblem(d.src.At(n.Find("propagateTags"),
			"%s.propagateTags cannot be SERVICE, as no service starts the task: use TASK_DEFINITION or NONE",
			where))
	}
	if in.LaunchType != "" && len(in.CapacityProviderStrategy) > 0 {
		d.addProblem(d.src.At(n, "%s: launchType and capacityProviderStrategy exclude each other", where))
	}
	if o := n.Find("overrides"); in.Overrides != nil && slices.ContainsFunc(in.Overrides.ContainerOverrides,
		isUnnamed) {
		d.addProblem(d.src.At(o, "%s.overrides: an entry of containerOverrides has no name", where))
	}
}

// ReadRun reads the output of [Run.JSON], or overrides from a person, as RunTask's request. file
// appears only in errors.
func ReadRun(file string, data []byte) (*Run, error) {
	src, err := Parse(file, data)
	if err != nil {
		return nil, err
	}
	src.HideSecrets()
	run, problems := DecodeRun(src, src.Root, file)
	return run, JoinProblems(problems)
}

// ReadOverrides reads RunTask's overrides from a person, in JSON or YAML.
func ReadOverrides(file string, data []byte) (*ecstypes.TaskOverride, error) {
	src, err := Parse(file, data)
	if err != nil {
		return nil, err
	}
	src.HideSecrets()
	d := &decoder{src: src}
	out := &ecstypes.TaskOverride{}
	d.decodeRoot(src.Root, reflect.ValueOf(out).Elem(),
		rootOptions{what: "the overrides", textual: []string{"cpu", "memory"}})
	if slices.ContainsFunc(out.ContainerOverrides, isUnnamed) {
		d.addProblem(src.At(src.Root, "an entry of containerOverrides has no name"))
	}
	return out, JoinProblems(d.problems)
}

// JSON returns the request as [ReadRun] reads it. It contains the values of environments.
func (r *Run) JSON() ([]byte, error) {
	return json.Marshal(jsonValue(reflect.ValueOf(r.Input)))
}

func isUnnamed(o ecstypes.ContainerOverride) bool { return o.Name == nil || *o.Name == "" }
