package validate

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/internal/definition"
)

const nameContainer = "name a container of this task definition"

// checkDependencies refuses a dependency that cannot be satisfied (ECS API Reference,
// "ContainerDependency").
func (c *checker) checkDependencies(k container, all []container) {
	nodes := itemsOf(k.node.Find("dependsOn"))
	for i, d := range k.DependsOn {
		name := aws.ToString(d.ContainerName)
		on, at := findContainer(all, name), nodes[i].Find("containerName")
		condition := nodes[i].Find("condition")
		switch {
		case name == k.name():
			c.addProblem(at, "name another container", "container %s depends on itself", name)
		case on == nil:
			c.addProblem(at, nameContainer, "container %s depends on %q, which is not in the task definition", k.name(),
				name).Meant = definition.Nearest(name, namesOf(all))
		case d.Condition == ecstypes.ContainerConditionHealthy && on.HealthCheck == nil:
			c.addProblem(condition, "add a healthCheck to container "+name+", or use START",
				"container %s waits until %s is HEALTHY, but %[2]s has no healthCheck", k.name(), name)
		case on.isEssential() && (d.Condition == ecstypes.ContainerConditionSuccess ||
			d.Condition == ecstypes.ContainerConditionComplete):
			c.addProblem(condition, "set essential: false in container "+name+", or use START",
				"container %s waits until %s ends, but %[2]s is essential: its end stops the task", k.name(), name)
		}
	}
}

// refuseCycles refuses containers that wait for each other.
func (c *checker) refuseCycles(all []container) {
	for _, k := range all {
		for i, d := range k.DependsOn {
			on := aws.ToString(d.ContainerName)
			if on > k.name() || on == k.name() || !dependsOn(all, on, k.name(), len(all)) {
				continue // one problem for each cycle
			}
			c.addProblem(itemsOf(k.node.Find("dependsOn"))[i], "remove one of the dependencies",
				"containers %s and %s wait for each other", k.name(), on)
		}
	}
}

// dependsOn reports whether a container waits for another, directly or through at most left others.
func dependsOn(all []container, name, on string, left int) bool {
	k := findContainer(all, name)
	if k == nil || left == 0 {
		return false
	}
	return slices.ContainsFunc(k.DependsOn, func(d ecstypes.ContainerDependency) bool {
		next := aws.ToString(d.ContainerName)
		return next == on || dependsOn(all, next, on, left-1)
	})
}

// checkReferences refuses names of volumes and containers that the task definition does not have.
func (c *checker) checkReferences(k container, all []container, task *definition.Task) {
	volumes := volumeNames(task)
	for i, m := range k.MountPoints {
		if name := aws.ToString(m.SourceVolume); m.SourceVolume != nil && !slices.Contains(volumes, name) {
			c.addProblem(itemsOf(k.node.Find("mountPoints"))[i].Find("sourceVolume"),
				"name a volume of this task definition, or add it to volumes",
				"container %s mounts volume %q, which is not in volumes", k.name(), name).Meant =
				definition.Nearest(name, volumes)
		}
	}
	for i, v := range k.VolumesFrom {
		if name := aws.ToString(v.SourceContainer); findContainer(all, name) == nil {
			c.addProblem(itemsOf(k.node.Find("volumesFrom"))[i], nameContainer,
				"container %s mounts the volumes of %q, which is not in the task definition", k.name(), name).Meant =
				definition.Nearest(name, namesOf(all))
		}
	}
	for i, link := range k.Links {
		if name, _, _ := strings.Cut(link, ":"); findContainer(all, name) == nil {
			c.addProblem(itemsOf(k.node.Find("links"))[i], nameContainer,
				"container %s has a link to %q, which is not in the task definition", k.name(), name).Meant =
				definition.Nearest(name, namesOf(all))
		}
	}
}

func volumeNames(task *definition.Task) (names []string) {
	for _, v := range task.Input.Volumes {
		names = append(names, aws.ToString(v.Name))
	}
	return names
}

// checkVolumes refuses two volumes of one name, and an EFS volume with authorizationConfig that is not encrypted in
// transit.
func (c *checker) checkVolumes(task *definition.Task) {
	names := volumeNames(task)
	for i, name := range names {
		efs := task.Input.Volumes[i].EfsVolumeConfiguration
		if efs != nil && efs.AuthorizationConfig != nil && efs.TransitEncryption != ecstypes.EFSTransitEncryptionEnabled {
			c.addProblem(itemsOf(task.Text.Body.Find("volumes"))[i], "set transitEncryption: ENABLED in efsVolumeConfiguration",
				"volume %s has authorizationConfig, which needs encryption in transit", name)
		}
		if slices.Contains(names[:i], name) {
			c.addProblem(itemsOf(task.Text.Body.Find("volumes"))[i], "rename one of the two volumes",
				"volume %s is given twice", name)
		}
	}
}

// checkTags refuses keys that AWS reserves, and two tags of one key.
func (c *checker) checkTags(body *definition.Node) {
	seen := map[string]bool{}
	for _, tag := range itemsOf(body.Find("tags")) {
		key := tag.Find("key")
		if !isGiven(key) {
			continue
		}
		if strings.HasPrefix(strings.ToLower(key.Text), "aws:") {
			c.addProblem(key, "rename the key", "the key of tag %s begins with aws:, which AWS reserves", key.Text)
		}
		if seen[key.Text] {
			c.addProblem(key, "remove one of the two tags", "tag %s is given twice", key.Text)
		}
		seen[key.Text] = true
	}
}
