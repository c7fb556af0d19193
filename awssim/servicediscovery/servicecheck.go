package servicediscovery

import (
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// Quotas (Cloud Map Developer Guide, "Quotas").
const (
	maxNamespaces         = 50
	maxNamespaceInstances = 2000
	maxInstances          = 1000
	maxAttributes         = 30
	maxTags               = 50
	pageSize              = 100
)

func invalidInput(format string, args ...any) error {
	return world.Refuse("InvalidInput", format, args...)
}

// Patterns of names.
const (
	visibleText = `[!-~]+`
	instanceID  = `[0-9a-zA-Z_/:.@-]+`
	label       = `[a-zA-Z0-9_]([a-zA-Z0-9_-]{0,61}[a-zA-Z0-9_])?`
	serviceName = label + `(\.` + label + `)*`
)

// constraints returns the constraints of the service's model.
func constraints() map[string]wire.Constraint {
	required, id := wire.Constraint{Required: true}, wire.Constraint{Required: true, Length: []int{0, 255}}
	shortID := wire.Constraint{Required: true, Length: []int{0, 64}}
	text, creator := wire.Constraint{Length: []int{0, 1024}}, wire.Constraint{Length: []int{0, 64}}
	arn, page := wire.Constraint{Required: true, Length: []int{1, 1011}}, wire.Constraint{Value: []int{1, pageSize}}
	dnsName := wire.Constraint{Required: true, Length: []int{0, 253}, Pattern: visibleText}
	all := map[string]wire.Constraint{
		"CreateHttpNamespaceInput.Name":       {Required: true, Length: []int{0, 1024}, Pattern: visibleText},
		"CreatePrivateDnsNamespaceInput.Name": dnsName,
		"CreatePublicDnsNamespaceInput.Name":  dnsName,
		"CreatePrivateDnsNamespaceInput.Vpc":  shortID,
		"CreateServiceInput.Name":             {Required: true, Length: []int{0, 127}, Pattern: serviceName},
		"RegisterInstanceInput.InstanceId":    {Required: true, Length: []int{0, 64}, Pattern: instanceID},
		"RegisterInstanceInput.Attributes":    required,
		"DnsConfig.DnsRecords":                required,
		"DnsConfigChange.DnsRecords":          required,
		"DnsRecord.Type":                      required,
		"DnsRecord.TTL":                       {Required: true, Value: []int{0, 2147483647}},
		"Tag.Key":                             {Required: true, Length: []int{1, 128}},
		"Tag.Value":                           {Required: true, Length: []int{0, 256}},
		"UpdateServiceInput.Service":          required,
		"GetOperationInput.OperationId":       id,
		"DiscoverInstancesInput.MaxResults":   {Value: []int{1, 1000}},
		"TagResourceInput.Tags":               required,
		"UntagResourceInput.TagKeys":          required,

		"UpdateInstanceCustomHealthStatusInput.Status": required,
	}
	for member, of := range map[string]wire.Constraint{
		"Description": text, "CreatorRequestId": creator,
	} {
		for _, in := range []string{"CreateHttpNamespace", "CreatePrivateDnsNamespace", "CreatePublicDnsNamespace",
			"CreateService"} {
			all[in+"Input."+member] = of
		}
	}
	all["RegisterInstanceInput.CreatorRequestId"] = creator
	for _, in := range []string{"UpdateHttpNamespace", "UpdatePrivateDnsNamespace", "UpdatePublicDnsNamespace"} {
		all[in+"Input.Id"], all[in+"Input.Namespace"] = id, required
	}
	for _, in := range []string{"DeleteNamespace", "GetNamespace", "DeleteService", "GetService", "UpdateService"} {
		all[in+"Input.Id"] = id
	}
	for _, in := range []string{"RegisterInstance", "DeregisterInstance", "GetInstance", "ListInstances",
		"GetInstancesHealthStatus", "UpdateInstanceCustomHealthStatus"} {
		all[in+"Input.ServiceId"] = id
	}
	for _, in := range []string{"DeregisterInstance", "GetInstance", "UpdateInstanceCustomHealthStatus"} {
		all[in+"Input.InstanceId"] = shortID
	}
	for _, in := range []string{"DiscoverInstances", "DiscoverInstancesRevision"} {
		all[in+"Input.NamespaceName"] = wire.Constraint{Required: true, Length: []int{0, 1024}}
		all[in+"Input.ServiceName"] = required
	}
	for _, in := range []string{"ListTagsForResource", "TagResource", "UntagResource"} {
		all[in+"Input.ResourceARN"] = arn
	}
	for _, in := range []string{"ListInstances", "GetInstancesHealthStatus", "ListNamespaces", "ListOperations",
		"ListServices"} {
		all[in+"Input.MaxResults"] = page
	}
	return all
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// pageOf returns one page of a list.
func pageOf[T any](items []T, token *string, max *int32, id func(T) string) ([]T, *string, error) {
	page, next, err := wire.Page(items, token, int(val(max)), pageSize, pageSize, id)
	if err != nil {
		return nil, nil, invalidInput("Invalid NextToken")
	}
	return page, next, nil
}

// filter is one condition of a list call.
type filter struct {
	name, condition string
	values          []string
}

// accepts reports whether a value meets the condition; EQ is the default.
func (f filter) accepts(value string) bool {
	if f.condition == "BEGINS_WITH" {
		return slices.ContainsFunc(f.values, func(v string) bool { return strings.HasPrefix(value, v) })
	}
	return slices.Contains(f.values, value)
}

// checkKnown refuses a condition that the list does not support. known maps filter names to their
// conditions.
func (f filter) checkKnown(known map[string]string) error {
	conditions, ok := known[f.name]
	switch {
	case !ok:
		return invalidInput("Filter name %q is not supported", f.name)
	case len(f.values) == 0:
		return invalidInput("Filter %q has no values", f.name)
	case f.condition != "" && !slices.Contains(strings.Fields(conditions), f.condition):
		return invalidInput("Condition %s is not supported for filter %s", f.condition, f.name)
	case len(f.values) > 1 && (f.condition == "" || f.condition == "EQ" || f.condition == "BEGINS_WITH"):
		return invalidInput("Filter %s takes one value", f.name)
	}
	return nil
}
