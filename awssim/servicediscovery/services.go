package servicediscovery

import (
	"context"
	"slices"
	"strings"
	"time"

	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"
	sdtypes "github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"

	"github.com/sluice-ecs/sluice/awssim/cloudmap"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// serviceDoc holds the data of a service that no controller reads.
type serviceDoc struct {
	creator, description string
	created              time.Time
	dns                  bool // has a DnsConfig
	check                *sdtypes.HealthCheckConfig
	tags                 []sdtypes.Tag
	attributes           map[string]string
}

func docOfService(r *world.Registry) *serviceDoc { return r.Doc.(*serviceDoc) }

// CreateService creates a service in a namespace, at once.
func (s *Service) CreateService(ctx context.Context, in *awssd.CreateServiceInput) (*awssd.CreateServiceOutput, error) {
	if err := checkTags(in.Tags); err != nil {
		return nil, err
	}
	return runStep(ctx, s, func(tx *world.Tx) (*awssd.CreateServiceOutput, error) {
		id := in.NamespaceId
		if id == nil && in.DnsConfig != nil {
			id = in.DnsConfig.NamespaceId
		}
		n, err := namespaceOf(tx, id)
		if err != nil {
			return nil, err
		}
		if err := checkService(n, in); err != nil {
			return nil, err
		}
		for _, r := range n.Registries.All() {
			if strings.EqualFold(r.Name, *in.Name) {
				return nil, &world.Refusal{Code: "ServiceAlreadyExists", Message: "Service " + *in.Name +
					" already exists.",
					Fields: map[string]any{"ServiceId": r.ID, "ServiceArn": r.ARN,
						"CreatorRequestId": docOfService(r).creator}}
			}
		}
		r := newService(ctx, tx, n, in)
		tx.AddRegistry(r)
		return &awssd.CreateServiceOutput{Service: showService(tx, r)}, nil
	})
}

func checkService(n *world.Namespace, in *awssd.CreateServiceInput) error {
	switch {
	case in.HealthCheckConfig != nil && in.HealthCheckCustomConfig != nil:
		return invalidInput("HealthCheckConfig and HealthCheckCustomConfig are mutually exclusive.")
	case in.HealthCheckConfig != nil && n.Kind != world.PublicNamespace:
		return invalidInput("HealthCheckConfig is only supported for services in public DNS namespaces.")
	case in.DnsConfig != nil && !n.HasDNS():
		return invalidInput("DnsConfig is not supported for services in HTTP namespaces.")
	case in.DnsConfig != nil && in.Type == sdtypes.ServiceTypeOptionHttp:
		return invalidInput("DnsConfig is not supported for services of type HTTP.")
	case in.DnsConfig == nil:
		return nil
	}
	return checkRecords(in.DnsConfig.DnsRecords, in.DnsConfig.RoutingPolicy)
}

func checkRecords(records []sdtypes.DnsRecord, policy sdtypes.RoutingPolicy) error {
	if len(records) == 0 {
		return invalidInput("DnsConfig has no DnsRecords.")
	}
	var seen []sdtypes.RecordType
	for _, r := range records {
		if slices.Contains(seen, r.Type) {
			return invalidInput("Duplicate DNS record type %s", r.Type)
		}
		seen = append(seen, r.Type)
	}
	if slices.Contains(seen, sdtypes.RecordTypeCname) {
		if len(seen) > 1 {
			return invalidInput("CNAME records cannot be combined with records of other types.")
		}
		if policy != sdtypes.RoutingPolicyWeighted {
			return invalidInput("CNAME records require the routing policy WEIGHTED.")
		}
	}
	return nil
}

func recordsOf(records []sdtypes.DnsRecord) (out []world.RecordType) {
	for _, r := range records {
		out = append(out, world.RecordType{Type: string(r.Type), TTL: time.Duration(*r.TTL) * time.Second})
	}
	return out
}

func newService(ctx context.Context, tx *world.Tx, n *world.Namespace, in *awssd.CreateServiceInput) *world.Registry {
	id := idOr(ctx, tx, "srv-")
	r := &world.Registry{ID: id, ARN: tx.ARN("servicediscovery", "service/"+id), Name: *in.Name, Namespace: n,
		HasCustomHealth: in.HealthCheckCustomConfig != nil}
	doc := &serviceDoc{creator: val(in.CreatorRequestId), description: val(in.Description), created: tx.Now(),
		tags: copyTags(in.Tags), check: copyCheck(in.HealthCheckConfig)}
	if d := in.DnsConfig; d != nil {
		r.Records, r.Weighted, doc.dns = recordsOf(d.DnsRecords), d.RoutingPolicy == sdtypes.RoutingPolicyWeighted, true
	}
	r.Doc = doc
	return r
}

func copyCheck(c *sdtypes.HealthCheckConfig) *sdtypes.HealthCheckConfig {
	if c == nil {
		return nil
	}
	out := &sdtypes.HealthCheckConfig{Type: c.Type, ResourcePath: optionalText(val(c.ResourcePath)),
		FailureThreshold: ptr(int32(1))}
	if c.FailureThreshold != nil {
		out.FailureThreshold = ptr(*c.FailureThreshold)
	}
	return out
}

// serviceOf returns a service by id or ARN.
func serviceOf(tx *world.Tx, id *string) (*world.Registry, error) {
	prefix := tx.ARN("servicediscovery", "service/")
	r, ok := tx.Registries.Get(prefix + strings.TrimPrefix(val(id), prefix))
	if !ok {
		return nil, world.Refuse("ServiceNotFound", "The service %s can't be found.", val(id))
	}
	return r, nil
}

// UpdateService changes description, records and Route 53 health check. It deletes records and
// check that the input leaves out; a custom health check is kept.
func (s *Service) UpdateService(ctx context.Context, in *awssd.UpdateServiceInput) (*awssd.UpdateServiceOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awssd.UpdateServiceOutput, error) {
		r, err := serviceOf(tx, in.Id)
		if err != nil {
			return nil, err
		}
		records, err := checkChange(r, in.Service)
		if err != nil {
			return nil, err
		}
		c := in.Service
		about := "service " + r.ID
		if err := s.checkNotBusy(tx, about, "UPDATE_SERVICE"); err != nil {
			return nil, err
		}
		doc := *docOfService(r)
		doc.check, doc.dns = copyCheck(c.HealthCheckConfig), records != nil
		if c.Description != nil {
			doc.description = *c.Description
		}
		op := s.startOperation(ctx, tx, cloudmap.Operation{Type: "UPDATE_SERVICE", Call: "UpdateService", About: about,
			Targets: map[string]string{"SERVICE": r.ID}},
			func(tx *world.Tx) *world.Refusal { return applyChange(tx, r, doc, records) })
		return &awssd.UpdateServiceOutput{OperationId: op}, nil
	})
}

// checkChange checks a service's update and returns the records after it.
func checkChange(r *world.Registry, c *sdtypes.ServiceChange) ([]world.RecordType, error) {
	if c.HealthCheckConfig != nil && (r.HasCustomHealth || r.Namespace.Kind != world.PublicNamespace) {
		return nil, invalidInput("HealthCheckConfig is not supported for this service.")
	}
	if c.DnsConfig == nil {
		return nil, nil
	}
	if !r.Namespace.HasDNS() {
		return nil, invalidInput("DnsConfig is not supported for services in HTTP namespaces.")
	}
	policy := sdtypes.RoutingPolicy("")
	if r.Weighted {
		policy = sdtypes.RoutingPolicyWeighted
	}
	if err := checkRecords(c.DnsConfig.DnsRecords, policy); err != nil {
		return nil, err
	}
	return recordsOf(c.DnsConfig.DnsRecords), nil
}

// applyChange ends the update of a service.
func applyChange(tx *world.Tx, r *world.Registry, doc serviceDoc, records []world.RecordType) *world.Refusal {
	if r.Deleted {
		return world.Refuse("INTERNAL_FAILURE", "The service is gone.")
	}
	doc.tags, doc.attributes = docOfService(r).tags, docOfService(r).attributes
	r.Records, r.Doc = records, &doc
	tx.Changed(world.RegistryChanged, r)
	return nil
}

// DeleteService deletes a service without instances, at once.
func (s *Service) DeleteService(ctx context.Context, in *awssd.DeleteServiceInput) (*awssd.DeleteServiceOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awssd.DeleteServiceOutput, error) {
		r, err := serviceOf(tx, in.Id)
		if err != nil {
			return nil, err
		}
		if r.Instances.Len() > 0 || s.isRegistering(tx, r) {
			return nil,
				world.Refuse("ResourceInUse", "Service contains registered instances; delete the instances before "+
					"deleting the service")
		}
		tx.DeleteRegistry(r)
		return &awssd.DeleteServiceOutput{}, nil
	})
}

// isRegistering reports whether an instance of the service is being registered.
func (s *Service) isRegistering(tx *world.Tx, r *world.Registry) bool {
	return slices.ContainsFunc(s.controller.Operations(tx), func(o *cloudmap.Operation) bool {
		return o.Targets["SERVICE"] == r.ID && o.Type == "REGISTER_INSTANCE" && o.Status != "SUCCESS" &&
			o.Status != "FAIL"
	})
}

// GetService returns a service.
func (s *Service) GetService(ctx context.Context, in *awssd.GetServiceInput) (*awssd.GetServiceOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awssd.GetServiceOutput, error) {
		r, err := serviceOf(tx, in.Id)
		if err != nil {
			return nil, err
		}
		return &awssd.GetServiceOutput{Service: showService(tx, r)}, nil
	})
}

func showService(tx *world.Tx, r *world.Registry) *sdtypes.Service {
	x := summaryOfService(tx, r)
	out := &sdtypes.Service{
		Arn: x.Arn, Id: x.Id, Name: x.Name, NamespaceId: ptr(r.Namespace.ID), Type: x.Type, Description: x.Description,
		CreateDate: x.CreateDate,
		DnsConfig:  x.DnsConfig, HealthCheckConfig: x.HealthCheckConfig,
		HealthCheckCustomConfig: x.HealthCheckCustomConfig, InstanceCount: x.InstanceCount,
		CreatedByAccount: x.CreatedByAccount, ResourceOwner: x.ResourceOwner,
		CreatorRequestId: optionalText(docOfService(r).creator),
	}
	if out.DnsConfig != nil {
		out.DnsConfig.NamespaceId = ptr(r.Namespace.ID)
	}
	return out
}

func summaryOfService(tx *world.Tx, r *world.Registry) sdtypes.ServiceSummary {
	d := docOfService(r)
	x := sdtypes.ServiceSummary{
		Arn: ptr(r.ARN), Id: ptr(r.ID), Name: ptr(r.Name), Type: typeOf(r), Description: optionalText(d.description),
		CreateDate:        ptr(d.created),
		HealthCheckConfig: copyCheck(d.check), InstanceCount: ptr(int32(r.Instances.Len())),
		CreatedByAccount: ptr(tx.Key.Account), ResourceOwner: ptr(tx.Key.Account),
	}
	if r.HasCustomHealth {
		x.HealthCheckCustomConfig = &sdtypes.HealthCheckCustomConfig{FailureThreshold: ptr(int32(1))}
	}
	if d.dns {
		x.DnsConfig = &sdtypes.DnsConfig{RoutingPolicy: sdtypes.RoutingPolicyMultivalue,
			DnsRecords: []sdtypes.DnsRecord{}}
		if r.Weighted {
			x.DnsConfig.RoutingPolicy = sdtypes.RoutingPolicyWeighted
		}
		for _, rec := range r.Records {
			x.DnsConfig.DnsRecords = append(x.DnsConfig.DnsRecords,
				sdtypes.DnsRecord{Type: sdtypes.RecordType(rec.Type), TTL: ptr(int64(rec.TTL / time.Second))})
		}
	}
	return x
}

func typeOf(r *world.Registry) sdtypes.ServiceType {
	if docOfService(r).dns {
		return sdtypes.ServiceTypeDnsHttp
	}
	return sdtypes.ServiceTypeHttp
}

// ListServices lists the services of the Region, or of a namespace.
func (s *Service) ListServices(ctx context.Context, in *awssd.ListServicesInput) (*awssd.ListServicesOutput, error) {
	var filters []filter
	for _, f := range in.Filters {
		x := filter{string(f.Name), string(f.Condition), f.Values}
		if err := x.checkKnown(map[string]string{"NAMESPACE_ID": "EQ", "RESOURCE_OWNER": "EQ"}); err != nil {
			return nil, err
		}
		filters = append(filters, x)
	}
	return runStep(ctx, s, func(tx *world.Tx) (*awssd.ListServicesOutput, error) {
		list := []sdtypes.ServiceSummary{}
		for _, r := range tx.Registries.All() {
			if matchesFilters(filters, map[string]string{"NAMESPACE_ID": r.Namespace.ID, "RESOURCE_OWNER": "SELF"}) {
				list = append(list, summaryOfService(tx, r))
			}
		}
		page, next, err := pageOf(list, in.NextToken, in.MaxResults,
			func(x sdtypes.ServiceSummary) string { return *x.Id })
		return &awssd.ListServicesOutput{Services: page, NextToken: next}, err
	})
}
