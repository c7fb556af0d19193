package definition

import (
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

// NewRun returns a request that overrides nothing yet.
func NewRun() *Run {
	return &Run{Input: &awsecs.RunTaskInput{Overrides: &ecstypes.TaskOverride{}}}
}

// SetCount sets the number of tasks.
func (r *Run) SetCount(n int) { r.Input.Count = aws.Int32(int32(n)) }

// HasOverrides reports whether the tasks differ from their task definition.
func (r *Run) HasOverrides() bool {
	o := r.Input.Overrides
	return o != nil && !reflect.DeepEqual(*o, ecstypes.TaskOverride{})
}

// SetCommand overrides the command of a container.
func (r *Run) SetCommand(container string, words []string) {
	r.overrideOf(container).Command = words
}

// AddEnvironment adds a variable to the environment of a container.
func (r *Run) AddEnvironment(container, name, value string) {
	c := r.overrideOf(container)
	c.Environment = append(c.Environment, ecstypes.KeyValuePair{Name: &name, Value: &value})
}

// AddTag adds a tag of the tasks.
func (r *Run) AddTag(key, value string) {
	r.Input.Tags = append(r.Input.Tags, ecstypes.Tag{Key: &key, Value: &value})
}

// SetPropagateTags sets whose tags the tasks get.
func (r *Run) SetPropagateTags(from string) { r.Input.PropagateTags = ecstypes.PropagateTags(from) }

// overrideOf returns the overrides of a container. It adds them if there are none.
func (r *Run) overrideOf(container string) *ecstypes.ContainerOverride {
	o := r.Input.Overrides
	i := slices.IndexFunc(o.ContainerOverrides,
		func(c ecstypes.ContainerOverride) bool { return aws.ToString(c.Name) == container })
	if i < 0 {
		i = len(o.ContainerOverrides)
		o.ContainerOverrides = append(o.ContainerOverrides, ecstypes.ContainerOverride{Name: &container})
	}
	return &o.ContainerOverrides[i]
}
