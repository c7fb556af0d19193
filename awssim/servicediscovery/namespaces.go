package servicediscovery

import (
	"context"
	"strings"
	"time"

	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"
	sdtypes "github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"

	"github.com/sluice-ecs/sluice/awssim/cloudmap"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// namespaceDoc holds the data of a namespace that no controller reads.
type namespaceDoc struct {
	creator, description string
	zone                 string // hosted zone
	soa                  int64
	created              time.Time
	tags                 []sdtypes.Tag
}

func docOfNamespace(n *world.Namespace) *namespaceDoc { return n.Doc.(*namespaceDoc) }

// callSuffixes maps namespace types to their names in API calls.
var callSuffixes = map[string]string{
	world.HTTPNamespace: "HttpNamespace", world.PrivateNamespace: "PrivateDnsNamespace",
	world.PublicNamespace: "PublicDnsNamespace",
}

// namespaceInput holds the input for a new namespace.
type namespaceInput struct {
	kind                            string
	name, creator, description, vpc *string
	soa                             *int64
	tags                            []sdtypes.Tag
}

// CreateHttpNamespace creates a namespace without DNS.
func (s *Service) CreateHttpNamespace(ctx context.Context,
	in *awssd.CreateHttpNamespaceInput) (*awssd.CreateHttpNamespaceOutput, error) {
	id, err := s.createNamespace(ctx, namespaceInput{kind: world.HTTPNamespace, name: in.Name,
		creator: in.CreatorRequestId, description: in.Description, tags: in.Tags})
	return &awssd.CreateHttpNamespaceOutput{OperationId: id}, err
}

// CreatePrivateDnsNamespace creates a namespace whose names resolve in a VPC.
func (s *Service) CreatePrivateDnsNamespace(ctx context.Context,
	in *awssd.CreatePrivateDnsNamespaceInput) (*awssd.CreatePrivateDnsNamespaceOutput, error) {
	f := namespaceInput{kind: world.PrivateNamespace, name: in.Name, creator: in.CreatorRequestId,
		description: in.Description, vpc: in.Vpc, tags: in.Tags}
	if p := in.Properties; p != nil && p.DnsProperties != nil && p.DnsProperties.SOA != nil {
		f.soa = p.DnsProperties.SOA.TTL
	}
	id, err := s.createNamespace(ctx, f)
	return &awssd.CreatePrivateDnsNamespaceOutput{OperationId: id}, err
}

// CreatePublicDnsNamespace creates a namespace whose names resolve everywhere.
func (s *Service) CreatePublicDnsNamespace(ctx context.Context,
	in *awssd.CreatePublicDnsNamespaceInput) (*awssd.CreatePublicDnsNamespaceOutput, error) {
	f := namespaceInput{kind: world.PublicNamespace, name: in.Name, creator: in.CreatorRequestId,
		description: in.Description, tags: in.Tags}
	if p := in.Properties; p != nil && p.DnsProperties != nil && p.DnsProperties.SOA != nil {
		f.soa = p.DnsProperties.SOA.TTL
	}
	id, err := s.createNamespace(ctx, f)
	return &awssd.CreatePublicDnsNamespaceOutput{OperationId: id}, err
}

func (s *Service) createNamespace(ctx context.Context, f namespaceInput) (*string, error) {
	if err := checkTags(f.tags); err != nil {
		return nil, err
	}
	return runStep(ctx, s, func(tx *world.Tx) (*string, error) {
		if n := tx.NamespaceByName(*f.name); n != nil {
			return nil, &world.Refusal{Code: "NamespaceAlreadyExists", Message: "Namespace with name " + *f.name +
				" already exists.",
				Fields: map[string]any{"NamespaceId": n.ID, "CreatorRequestId": docOfNamespace(n).creator}}
		}
		if tx.Namespaces.Len() >= maxNamespaces {
			return nil, world.Refuse("ResourceLimitExceeded", "The maximum number of namespaces, %d, has been reached.",
				maxNamespaces)
		}
		about := "namespace " + strings.ToLower(*f.name)
		if err := s.checkNotBusy(tx, about, "CREATE_NAMESPACE"); err != nil {
			return nil, err
		}
		n := f.buildNamespace(ctx, tx)
		return s.startOperation(ctx, tx, cloudmap.Operation{Type: "CREATE_NAMESPACE", Call: "Create" +
			callSuffixes[f.kind], About: about, Targets: map[string]string{"NAMESPACE": n.ID}, Creator: val(f.creator)},
			func(tx *world.Tx) *world.Refusal { return finishCreation(tx, n) }), nil
	})
}

func (f namespaceInput) buildNamespace(ctx context.Context, tx *world.Tx) *world.Namespace {
	id := idOr(ctx, tx, "ns-")
	doc := &namespaceDoc{creator: val(f.creator), description: val(f.description), soa: 15, created: tx.Now(),
		tags: copyTags(f.tags)}
	if f.soa != nil {
		doc.soa = *f.soa
	}
	if f.kind != world.HTTPNamespace {
		doc.zone = "Z" + strings.ToUpper(tx.NewHex("hosted zone", 20))
	}
	return &world.Namespace{ID: id, ARN: tx.ARN("servicediscovery", "namespace/"+id), Name: *f.name, Kind: f.kind,
		VPC: val(f.vpc), Doc: doc}
}

// finishCreation ends the creation of a namespace.
func finishCreation(tx *world.Tx, n *world.Namespace) *world.Refusal {
	if _, ok := tx.VPCs.Get(n.VPC); n.Kind == world.PrivateNamespace && !ok {
		return world.Refuse("CANNOT_CREATE_HOSTED_ZONE",
			"The VPC that you specified, %s, is not valid. (Service: AmazonRoute53; Status Code: 400; Error Code: "+
				"InvalidVPCId)", n.VPC)
	}
	tx.AddNamespace(n)
	return nil
}

// namespaceOf returns a namespace by id or ARN.
func namespaceOf(tx *world.Tx, id *string) (*world.Namespace, error) {
	n, ok := tx.Namespaces.Get(strings.TrimPrefix(val(id), tx.ARN("servicediscovery", "namespace/")))
	if !ok {
		return nil, world.Refuse("NamespaceNotFound", "The namespace %s can't be found.", val(id))
	}
	return n, nil
}

// DeleteNamespace deletes a namespace without services.
func (s *Service) DeleteNamespace(ctx context.Context, in *awssd.DeleteNamespaceInput) (*awssd.DeleteNamespaceOutput,
	error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awssd.DeleteNamespaceOutput, error) {
		n, err := namespaceOf(tx, in.Id)
		if err != nil {
			return nil, err
		}
		if n.Registries.Len() > 0 {
			return nil,
				world.Refuse("ResourceInUse", "Namespace has associated services; delete the services before "+
					"deleting the namespace")
		}
		about := "namespace " + strings.ToLower(n.Name)
		if err := s.checkNotBusy(tx, about, "DELETE_NAMESPACE"); err != nil {
			return nil, err
		}
		op := s.startOperation(ctx, tx, cloudmap.Operation{Type: "DELETE_NAMESPACE", Call: "DeleteNamespace",
			About: about, Targets: map[string]string{"NAMESPACE": n.ID}},
			func(tx *world.Tx) *world.Refusal {
				if n.Registries.Len() > 0 {
					return world.Refuse("INTERNAL_FAILURE", "Namespace has associated services.")
				}
				tx.DeleteNamespace(n)
				return nil
			})
		return &awssd.DeleteNamespaceOutput{OperationId: op}, nil
	})
}

// UpdateHttpNamespace changes a description.
func (s *Service) UpdateHttpNamespace(ctx context.Context,
	in *awssd.UpdateHttpNamespaceInput) (*awssd.UpdateHttpNamespaceOutput, error) {
	id, err := s.updateNamespace(ctx, world.HTTPNamespace, in.Id, in.Namespace.Description, nil, in.UpdaterRequestId)
	return &awssd.UpdateHttpNamespaceOutput{OperationId: id}, err
}

// UpdatePrivateDnsNamespace changes a description or the TTL of the SOA record.
func (s *Service) UpdatePrivateDnsNamespace(ctx context.Context,
	in *awssd.UpdatePrivateDnsNamespaceInput) (*awssd.UpdatePrivateDnsNamespaceOutput, error) {
	var soa *int64
	if p := in.Namespace.Properties; p != nil && p.DnsProperties != nil && p.DnsProperties.SOA != nil {
		soa = p.DnsProperties.SOA.TTL
	}
	id, err := s.updateNamespace(ctx, world.PrivateNamespace, in.Id, in.Namespace.Description, soa, in.UpdaterRequestId)
	return &awssd.UpdatePrivateDnsNamespaceOutput{OperationId: id}, err
}

// UpdatePublicDnsNamespace changes a description or the TTL of the SOA record.
func (s *Service) UpdatePublicDnsNamespace(ctx context.Context,
	in *awssd.UpdatePublicDnsNamespaceInput) (*awssd.UpdatePublicDnsNamespaceOutput, error) {
	var soa *int64
	if p := in.Namespace.Properties; p != nil && p.DnsProperties != nil && p.DnsProperties.SOA != nil {
		soa = p.DnsProperties.SOA.TTL
	}
	id, err := s.updateNamespace(ctx, world.PublicNamespace, in.Id, in.Namespace.Description, soa, in.UpdaterRequestId)
	return &awssd.UpdatePublicDnsNamespaceOutput{OperationId: id}, err
}

func (s *Service) updateNamespace(ctx context.Context, kind string, id, description *string, soa *int64,
	creator *string) (*string, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*string, error) {
		n, err := namespaceOf(tx, id)
		if err != nil {
			return nil, err
		}
		if n.Kind != kind {
			return nil, invalidInput("The namespace %s is of type %s", n.ID, n.Kind)
		}
		about := "namespace " + strings.ToLower(n.Name)
		if err := s.checkNotBusy(tx, about, "UPDATE_NAMESPACE"); err != nil {
			return nil, err
		}
		doc := *docOfNamespace(n)
		if description != nil {
			doc.description = *description
		}
		if soa != nil {
			doc.soa = *soa
		}
		return s.startOperation(ctx, tx, cloudmap.Operation{Type: "UPDATE_NAMESPACE", Call: "Update" +
			callSuffixes[kind], About: about, Targets: map[string]string{"NAMESPACE": n.ID}, Creator: val(creator)},
			func(tx *world.Tx) *world.Refusal {
				doc.tags = docOfNamespace(n).tags
				n.Doc = &doc
				tx.Changed(world.RegistryChanged, n)
				return nil
			}), nil
	})
}

// GetNamespace returns a namespace.
func (s *Service) GetNamespace(ctx context.Context, in *awssd.GetNamespaceInput) (*awssd.GetNamespaceOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awssd.GetNamespaceOutput, error) {
		n, err := namespaceOf(tx, in.Id)
		if err != nil {
			return nil, err
		}
		x := summaryOfNamespace(tx, n)
		return &awssd.GetNamespaceOutput{Namespace: &sdtypes.Namespace{
			Arn: x.Arn, Id: x.Id, Name: x.Name, Type: x.Type, Description: x.Description, CreateDate: x.CreateDate,
			Properties:   x.Properties,
			ServiceCount: x.ServiceCount, ResourceOwner: x.ResourceOwner,
			CreatorRequestId: optionalText(docOfNamespace(n).creator),
		}}, nil
	})
}

func summaryOfNamespace(tx *world.Tx, n *world.Namespace) sdtypes.NamespaceSummary {
	d := docOfNamespace(n)
	p := &sdtypes.NamespaceProperties{HttpProperties: &sdtypes.HttpProperties{HttpName: ptr(n.Name)},
		DnsProperties: &sdtypes.DnsProperties{SOA: &sdtypes.SOA{}}}
	if n.HasDNS() {
		p.DnsProperties = &sdtypes.DnsProperties{HostedZoneId: ptr(d.zone), SOA: &sdtypes.SOA{TTL: ptr(d.soa)}}
	}
	return sdtypes.NamespaceSummary{
		Arn: ptr(n.ARN), Id: ptr(n.ID), Name: ptr(n.Name), Type: sdtypes.NamespaceType(n.Kind),
		Description: optionalText(d.description), CreateDate: ptr(d.created),
		Properties: p, ServiceCount: ptr(int32(n.Registries.Len())), ResourceOwner: ptr(tx.Key.Account),
	}
}

// ListNamespaces lists the namespaces of the Region.
func (s *Service) ListNamespaces(ctx context.Context, in *awssd.ListNamespacesInput) (*awssd.ListNamespacesOutput,
	error) {
	known := map[string]string{"TYPE": "EQ IN", "NAME": "EQ BEGINS_WITH", "HTTP_NAME": "EQ BEGINS_WITH",
		"RESOURCE_OWNER": "EQ"}
	var filters []filter
	for _, f := range in.Filters {
		x := filter{string(f.Name), string(f.Condition), f.Values}
		if err := x.checkKnown(known); err != nil {
			return nil, err
		}
		filters = append(filters, x)
	}
	return runStep(ctx, s, func(tx *world.Tx) (*awssd.ListNamespacesOutput, error) {
		list := []sdtypes.NamespaceSummary{}
		for _, n := range tx.Namespaces.All() {
			of := map[string]string{"TYPE": n.Kind, "NAME": n.Name, "HTTP_NAME": n.Name, "RESOURCE_OWNER": "SELF"}
			if matchesFilters(filters, of) {
				list = append(list, summaryOfNamespace(tx, n))
			}
		}
		page, next, err := pageOf(list, in.NextToken, in.MaxResults,
			func(x sdtypes.NamespaceSummary) string { return *x.Id })
		return &awssd.ListNamespacesOutput{Namespaces: page, NextToken: next}, err
	})
}

// matchesFilters reports whether the properties of a resource match every filter.
func matchesFilters(filters []filter, of map[string]string) bool {
	for _, f := range filters {
		if !f.accepts(of[f.name]) {
			return false
		}
	}
	return true
}
