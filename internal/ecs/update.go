package ecs

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// Update is a change of service attributes: the members to write, by name, and
// their values. It survives as JSON.
type Update struct {
	Members []string                  `json:"members,omitempty"`
	Values  awsecs.UpdateServiceInput `json:"values"`
}

// updatable are the members that UpdateService takes under EXTERNAL (ECS API
// Reference, UpdateService; the developer guide names fewer), each with how to
// copy it from a file and how to read it from the live service.
var updatable = map[string]struct {
	want func(*awsecs.UpdateServiceInput, *awsecs.CreateServiceInput)
	have func(*awsecs.UpdateServiceInput, *Live)
}{
	"desiredCount": {
		func(in *awsecs.UpdateServiceInput, f *awsecs.CreateServiceInput) { in.DesiredCount = f.DesiredCount },
		func(in *awsecs.UpdateServiceInput, l *Live) { in.DesiredCount = aws.Int32(l.Raw.DesiredCount) },
	},
	"healthCheckGracePeriodSeconds": {
		func(in *awsecs.UpdateServiceInput, f *awsecs.CreateServiceInput) {
			in.HealthCheckGracePeriodSeconds = f.HealthCheckGracePeriodSeconds
		},
		func(in *awsecs.UpdateServiceInput, l *Live) {
			in.HealthCheckGracePeriodSeconds = aws.Int32(aws.ToInt32(l.Raw.HealthCheckGracePeriodSeconds))
		},
	},
	"placementConstraints": {
		func(in *awsecs.UpdateServiceInput, f *awsecs.CreateServiceInput) {
			in.PlacementConstraints = nonNil(f.PlacementConstraints)
		},
		func(in *awsecs.UpdateServiceInput, l *Live) {
			in.PlacementConstraints = nonNil(l.Raw.PlacementConstraints)
		},
	},
	"placementStrategy": {
		func(in *awsecs.UpdateServiceInput, f *awsecs.CreateServiceInput) {
			in.PlacementStrategy = nonNil(f.PlacementStrategy)
		},
		func(in *awsecs.UpdateServiceInput, l *Live) { in.PlacementStrategy = nonNil(l.Raw.PlacementStrategy) },
	},
	"enableECSManagedTags": {
		func(in *awsecs.UpdateServiceInput, f *awsecs.CreateServiceInput) {
			in.EnableECSManagedTags = aws.Bool(f.EnableECSManagedTags)
		},
		func(in *awsecs.UpdateServiceInput, l *Live) {
			in.EnableECSManagedTags = aws.Bool(l.Raw.EnableECSManagedTags)
		},
	},
	"enableExecuteCommand": {
		func(in *awsecs.UpdateServiceInput, f *awsecs.CreateServiceInput) {
			in.EnableExecuteCommand = aws.Bool(f.EnableExecuteCommand)
		},
		func(in *awsecs.UpdateServiceInput, l *Live) {
			in.EnableExecuteCommand = aws.Bool(l.Raw.EnableExecuteCommand)
		},
	},
	"propagateTags": {
		func(in *awsecs.UpdateServiceInput, f *awsecs.CreateServiceInput) { in.PropagateTags = f.PropagateTags },
		func(in *awsecs.UpdateServiceInput, l *Live) { in.PropagateTags = l.Raw.PropagateTags },
	},
}

// nonNil: in UpdateService an empty list removes, an absent one leaves.
func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Differing is the update that brings the live service to the file, as far as
// AWS lets it change under EXTERNAL.
func Differing(file *definition.Service, live *Live) Update {
	var u Update
	for _, d := range definition.CompareService(file, &live.Raw) {
		member := d.Path
		if i := strings.IndexAny(member, ".["); i >= 0 {
			member = member[:i]
		}
		copies, ok := updatable[member]
		if !ok || slices.Contains(u.Members, member) {
			continue
		}
		copies.want(&u.Values, file.Input)
		u.Members = append(u.Members, member)
	}
	return u
}

// Former is the update that undoes u: the live values of the same members.
func (u Update) Former(live *Live) Update {
	back := Update{Members: u.Members}
	for _, member := range u.Members {
		updatable[member].have(&back.Values, live)
	}
	return back
}

// DifferingTags are the tags of the file that the live service has not got, or
// has with another value.
func DifferingTags(file *definition.Service, live *Live) map[string]string {
	tags := map[string]string{}
	for _, t := range file.Input.Tags {
		k, v := aws.ToString(t.Key), aws.ToString(t.Value)
		if have, ok := live.Tags[k]; !ok || have != v {
			tags[k] = v
		}
	}
	return tags
}

// Update writes the members of u and nothing else.
func (s Service) Update(ctx context.Context, act sluice.Act, action string, u Update) error {
	in := u.Values
	in.Cluster, in.Service = aws.String(s.Cluster), aws.String(s.Name)
	w := sluice.Write{Operation: "ecs:UpdateService", Resource: s.Resource()}
	return act(ctx, sluice.Attempt{Action: action, Planned: w, Actual: w}, func(ctx context.Context) (string, error) {
		_, err := s.API.UpdateService(ctx, &in)
		return strings.Join(u.Members, ", "), err
	})
}
