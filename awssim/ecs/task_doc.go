package ecs

import (
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// taskDoc holds the parts of a task that no controller reads.
type taskDoc struct {
	tags      []ecstypes.Tag
	overrides *ecstypes.TaskOverride
	platform  *string
	exec      bool
}

// AllowsExec reports whether the agent of Session Manager runs in the containers. Systems Manager asks for it.
func (d *taskDoc) AllowsExec() bool { return d.exec }

func docOfTask(t *world.Task) *taskDoc { return t.Doc.(*taskDoc) }

// attachTaskDoc adds the document to each task that the scheduler starts. Its tags are those at its
// start; later changes of the service do not affect them.
func attachTaskDoc(_ *world.Tx, c world.Change) {
	t, ok := c.Object.(*world.Task)
	if !ok || t.Doc != nil {
		return
	}
	d := &taskDoc{}
	t.Doc = d
	if t.Set == nil {
		return
	}
	set, svc := docOfSet(t.Set), docOfService(t.Service).shape
	d.platform, d.exec = deepCopy(set.PlatformVersion), svc.EnableExecuteCommand
	switch svc.PropagateTags {
	case "SERVICE":
		d.tags = deepCopy(svc.Tags)
	case "TASK_DEFINITION":
		d.tags = deepCopy(docOfDefinition(t.Definition).tags)
	}
	if svc.EnableECSManagedTags {
		d.tags = append(d.tags, managedTags(t)...)
	}
}

func managedTags(t *world.Task) []ecstypes.Tag {
	tags := []ecstypes.Tag{{Key: ptr("aws:ecs:clusterName"), Value: ptr(t.Cluster.Name)}}
	if t.Service != nil {
		tags = append(tags, ecstypes.Tag{Key: ptr("aws:ecs:serviceName"), Value: ptr(t.Service.Name)})
	}
	return tags
}
