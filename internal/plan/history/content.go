package history

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/internal/plan"
)

// SharingImages returns the revisions whose images another revision of the history has too. Only they can be copies of
// each other, as a rollback registers for a deregistered revision.
func SharingImages(past []plan.PastDeployment) (names []string) {
	byImages := map[string][]string{}
	for _, p := range past {
		name := p.RevisionName()
		if name == "" {
			continue
		}
		images := imagesOf(p.Revision)
		if !slices.Contains(byImages[images], name) {
			byImages[images] = append(byImages[images], name)
		}
	}
	for _, group := range byImages {
		if len(group) > 1 {
			names = append(names, group...)
		}
	}
	slices.Sort(names)
	return names
}

func imagesOf(r *ecstypes.ServiceRevision) string {
	var all []string
	for _, c := range r.ContainerImages {
		all = append(all, aws.ToString(c.ContainerName)+" "+aws.ToString(c.Image))
	}
	slices.Sort(all)
	return fmt.Sprint(all)
}

// contentOf returns the content of a revision, or its name if the content was not read.
func contentOf(past []plan.PastDeployment, name string) string {
	n := slices.IndexFunc(past, func(p plan.PastDeployment) bool { return p.RevisionName() == name })
	if n < 0 {
		return name
	}
	return cmp.Or(past[n].Content, name)
}

// nameCurrent names the revision of the service. If it is a copy, it also names the revision that it equals.
func nameCurrent(s *ecstypes.Service, past []plan.PastDeployment) string {
	current := currentRevision(s)
	for _, p := range slices.Backward(past) {
		if name := p.RevisionName(); name != "" && name != current && contentOf(past, name) == contentOf(past, current) {
			return current + " (equal to " + name + ")"
		}
	}
	return current
}
