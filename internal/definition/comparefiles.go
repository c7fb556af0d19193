package definition

import (
	"encoding/json"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

// CompareTaskFiles compares the task definitions of two files, as [CompareTask] does, with their
// families.
func CompareTaskFiles(want, have *Task) []Difference {
	diffs := append(CompareTask(want, have.AsDescribed()), CompareTags(want, have.Input.Tags)...)
	if a, b := aws.ToString(have.Input.Family), aws.ToString(want.Input.Family); a != b {
		diffs = append(diffs, Difference{Path: "family", Have: a, Want: b})
	}
	return diffs
}

// CompareServiceFiles compares the fields that the wanted file sets, and those that it no longer
// sets.
func CompareServiceFiles(want, have *Service) []Difference {
	diffs := append(CompareService(want, have.asDescribed()), CompareTaskSet(want, have.asTaskSet())...)
	back := append(CompareService(have, want.asDescribed()), CompareTaskSet(have, want.asTaskSet())...)
	for _, d := range back {
		name := d.Path
		if i := strings.IndexAny(name, ".["); i >= 0 {
			name = name[:i]
		}
		if !want.Given[name] || name == "tags" {
			diffs = append(diffs, Difference{Path: d.Path, Have: d.Want, Want: "not given"})
		}
	}
	return diffs
}

// AsDescribed converts a file to AWS's response type: requests and responses have the same names. A
// part that does not fit is omitted, and so counts as a difference.
func (t *Task) AsDescribed() *ecstypes.TaskDefinition {
	td := &ecstypes.TaskDefinition{}
	if data, err := t.JSON(); err == nil {
		_ = json.Unmarshal(data, td)
	}
	return td
}

func (s *Service) asDescribed() *ecstypes.Service {
	live, primary := &ecstypes.Service{}, ecstypes.Deployment{}
	if data, err := s.JSON(); err == nil {
		_ = json.Unmarshal(data, live)
		_ = json.Unmarshal(data, &primary)
	}
	live.ClusterArn, live.RoleArn = s.Input.Cluster, s.Input.Role
	primary.Status = aws.String("PRIMARY")
	live.Deployments = []ecstypes.Deployment{primary}
	return live
}

func (s *Service) asTaskSet() *ecstypes.TaskSet {
	set := &ecstypes.TaskSet{}
	if data, err := s.JSON(); err == nil {
		_ = json.Unmarshal(data, set)
	}
	return set
}
