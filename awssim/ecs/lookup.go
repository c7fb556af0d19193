package ecs

import (
	"errors"
	"strings"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// clusterOf returns an ACTIVE cluster by name or ARN; an empty id is "default".
func clusterOf(tx *world.Tx, id *string) (*world.Cluster, error) {
	name := val(id)
	if name == "" {
		name = "default"
	}
	c, ok := tx.Clusters.Get(lastSegment(name))
	if !ok || c.Status != "ACTIVE" || isARN(name) && c.ARN != name {
		return nil, world.Refuse("ClusterNotFoundException", "Cluster not found.")
	}
	return c, nil
}

// serviceIn returns a service of a cluster by name or ARN, in any status.
func serviceIn(tx *world.Tx, c *world.Cluster, id string) (*world.Service, bool) {
	s, ok := tx.Services.Get(c.Name + "/" + lastSegment(id))
	if !ok || isARN(id) && id != s.ARN || !isARN(id) && id != s.Name {
		return nil, false
	}
	return s, true
}

// activeService returns the ACTIVE service that a request changes.
func activeService(tx *world.Tx, cluster, id *string) (*world.Service, error) {
	c, err := clusterOf(tx, cluster)
	if err != nil {
		return nil, err
	}
	if val(id) == "" {
		return nil, invalidParameter("Service cannot be empty.")
	}
	s, ok := serviceIn(tx, c, *id)
	if !ok {
		return nil, world.Refuse("ServiceNotFoundException", "Service not found.")
	}
	if s.Status != "ACTIVE" {
		return nil, world.Refuse("ServiceNotActiveException", "Service was not ACTIVE.")
	}
	return s, nil
}

// deletableService is [activeService] for DeleteService, whose model has no ServiceNotActiveException.
func deletableService(tx *world.Tx, cluster, id *string) (*world.Service, error) {
	s, err := activeService(tx, cluster, id)
	var r *world.Refusal
	if errors.As(err, &r) && r.Code == "ServiceNotActiveException" {
		return nil, world.Refuse("ServiceNotFoundException", "Service not found.")
	}
	return s, err
}

// externalService returns an ACTIVE service with controller EXTERNAL, which may have task sets.
func externalService(tx *world.Tx, cluster, id *string) (*world.Service, error) {
	s, err := activeService(tx, cluster, id)
	if err == nil && s.Controller != "EXTERNAL" {
		err = invalidParameter("Amazon ECS only supports task set management on services configured to use external " +
			"deployment controllers.")
	}
	return s, err
}

// taskSetIn returns a task set by id or ARN.
func taskSetIn(s *world.Service, id string) (*world.TaskSet, error) {
	if !isARN(id) && !isSetID(id) || isARN(id) && !strings.HasPrefix(resourcePart(id), "task-set/") {
		return nil, invalidParameter("Task Set Identifier is invalid")
	}
	for _, ts := range s.TaskSets {
		if ts.ID == id || ts.ARN == id {
			return ts, nil
		}
	}
	return nil, world.Refuse("TaskSetNotFoundException",
		"The specified task set could not be found. You can view your available task sets with DescribeTaskSets. "+
			"Task sets are specific to each cluster, service and Region.")
}

func isSetID(id string) bool {
	digits, ok := strings.CutPrefix(id, "ecs-svc/")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// definitionFor returns the ACTIVE task definition that a request starts tasks from: by family (the
// newest ACTIVE), family:revision or ARN.
func definitionFor(tx *world.Tx, id string) (*world.TaskDefinition, error) {
	d := definitionOf(tx, id)
	if d == nil {
		return nil, clientError("TaskDefinition not found.")
	}
	if d.Status != "ACTIVE" {
		return nil, clientError("TaskDefinition is inactive")
	}
	return d, nil
}
