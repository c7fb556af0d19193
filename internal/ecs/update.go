package ecs

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// Update is a change of service attributes: the names of the fields to write, and their values. It
// is saved as JSON.
type Update struct {
	Members []string                  `json:"members,omitempty"`
	Values  awsecs.UpdateServiceInput `json:"values"`
}

// updatable has the fields that UpdateService accepts, by deployment controller (ECS API Reference,
// UpdateService; for EXTERNAL the developer guide names fewer). The desired count is updated only
// if the file gives it.
var updatable = map[string][]string{
	"EXTERNAL": {"desiredCount", "healthCheckGracePeriodSeconds", "placementConstraints", "placementStrategy",
		"enableECSManagedTags", "enableExecuteCommand", "propagateTags"},
	"ECS": {"desiredCount", "healthCheckGracePeriodSeconds", "placementConstraints", "placementStrategy",
		"enableECSManagedTags", "enableExecuteCommand", "propagateTags", "deploymentConfiguration",
		"networkConfiguration",
		"platformVersion", "capacityProviderStrategy", "loadBalancers", "serviceRegistries",
		"availabilityZoneRebalancing",
		"serviceConnectConfiguration", "volumeConfigurations", "vpcLatticeConfigurations"},
}

func updatableUnder(controller string) []string {
	if controller == "CODE_DEPLOY" {
		return definition.UpdatedUnderCodeDeploy()
	}
	return updatable[controller]
}

// DifferingUpdate returns the update that changes the current service to the file, as far as AWS
// permits it under the controller of the service.
func DifferingUpdate(file *definition.Service, live *ServiceState) Update {
	var u Update
	for _, d := range definition.CompareService(file, &live.Raw) {
		member := d.Path
		if i := strings.IndexAny(member, ".["); i >= 0 {
			member = member[:i]
		}
		if slices.Contains(updatableUnder(live.Controller), member) && !slices.Contains(u.Members, member) {
			u.copyField(member, *file.Input)
		}
	}
	return u
}

// Inverse returns the update that undoes u: the current values of the same fields.
func (u Update) Inverse(live *ServiceState) Update {
	var back Update
	for _, member := range u.Members {
		if from := reflect.ValueOf(live.Raw).FieldByName(upperFirst(member)); from.IsValid() {
			back.copyField(member, live.Raw)
			continue
		}
		if d := primaryDeployment(live.Raw); d != nil {
			// Service Connect, volumes, Lattice: DescribeServices returns them with the deployment
			back.copyField(member, *d)
		}
	}
	return back
}

// MissingIn returns the part of u that the current service does not have.
func (u Update) MissingIn(live *ServiceState) Update {
	var out Update
	have := u.Inverse(live)
	for _, member := range u.Members {
		if member == "deploymentConfiguration" {
			if to := definition.ResetConfiguration(u.Values.DeploymentConfiguration, &live.Raw); to != nil {
				out.Members, out.Values.DeploymentConfiguration = append(out.Members, member), to
			}
			continue
		}
		want := reflect.ValueOf(u.Values).FieldByName(upperFirst(member)).Interface()
		if !reflect.DeepEqual(want, reflect.ValueOf(have.Values).FieldByName(upperFirst(member)).Interface()) {
			out.copyField(member, u.Values)
		}
	}
	return out
}

// CountUpdate returns the update to a desired count.
func CountUpdate(n int) Update {
	u := Update{Members: []string{"desiredCount"}}
	u.Values.DesiredCount = aws.Int32(int32(n))
	return u
}

// Without returns u without a field.
func (u Update) Without(member string) (out Update) {
	for _, m := range u.Members {
		if m != member {
			out.copyField(m, u.Values)
		}
	}
	return out
}

func primaryDeployment(s ecstypes.Service) *ecstypes.Deployment {
	for i, d := range s.Deployments {
		if aws.ToString(d.Status) == "PRIMARY" {
			return &s.Deployments[i]
		}
	}
	return nil
}

// copyField copies a field from an SDK struct that has it under the same name: a request, the
// described service, its deployment. In UpdateService an empty list removes the setting and an
// absent list keeps it. The copied list is therefore never nil.
func (u *Update) copyField(member string, from any) {
	to := reflect.ValueOf(&u.Values).Elem().FieldByName(upperFirst(member))
	v := reflect.ValueOf(from).FieldByName(upperFirst(member))
	if !to.IsValid() || !v.IsValid() {
		return
	}
	switch {
	case v.Type() == to.Type() && v.Kind() == reflect.Slice && v.IsNil():
		v = reflect.MakeSlice(v.Type(), 0, 0)
	case v.Type() == to.Type() && v.Kind() == reflect.Pointer && v.IsNil() && v.Type().Elem().Kind() == reflect.Int32:
		v = reflect.New(v.Type().Elem()) // a number that AWS does not return is 0
	case v.Type() == to.Type() && v.Type() == reflect.TypeFor[*ecstypes.ServiceConnectConfiguration]() && v.IsNil():
		v = reflect.ValueOf(&ecstypes.ServiceConnectConfiguration{Enabled: false}) // UpdateService keeps an absent one
	case to.Kind() == reflect.Pointer && v.Type() == to.Type().Elem():
		p := reflect.New(v.Type())
		p.Elem().Set(v)
		v = p
	case v.Type() != to.Type():
		return
	}
	to.Set(v)
	u.Members = append(u.Members, member)
	u.removeHooks()
}

// removeHooks removes the lifecycle hooks of an earlier strategy with a configuration that is rolling
// and has none: UpdateService keeps an absent list.
func (u *Update) removeHooks() {
	c := u.Values.DeploymentConfiguration
	if c == nil || c.Strategy != ecstypes.DeploymentStrategyRolling || c.LifecycleHooks != nil {
		return
	}
	without := *c
	without.LifecycleHooks = []ecstypes.DeploymentLifecycleHook{}
	u.Values.DeploymentConfiguration = &without
}

func upperFirst(member string) string { return strings.ToUpper(member[:1]) + member[1:] }

// DifferingTags returns the tags of the file that the current service lacks or has with another
// value.
func DifferingTags(file *definition.Service, live *ServiceState) map[string]string {
	tags := map[string]string{}
	for _, t := range file.Input.Tags {
		k, v := aws.ToString(t.Key), aws.ToString(t.Value)
		if have, ok := live.Tags[k]; !ok || have != v {
			tags[k] = v
		}
	}
	return tags
}

// NeedsNewDeployment reports whether AWS accepts the update only with a new deployment: another
// capacity provider strategy (ECS API Reference, UpdateService).
func (u Update) NeedsNewDeployment() bool { return u.Values.CapacityProviderStrategy != nil }

// Update writes the fields of u and nothing else.
func (s Service) Update(ctx context.Context, act sluice.Act, action string, u Update) error {
	in := u.Values
	in.Cluster, in.Service = aws.String(s.Cluster), aws.String(s.Name)
	w := sluice.Write{Operation: "ecs:UpdateService", Resource: s.Resource()}
	return act(ctx, sluice.Attempt{Action: action, Planned: w, Actual: w}, func(ctx context.Context) (string, error) {
		_, err := s.API.UpdateService(ctx, &in)
		return strings.Join(u.Members, ", "), err
	})
}
