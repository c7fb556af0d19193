package awssim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"
	sdtypes "github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"

	"github.com/sluice-ecs/sluice/awssim/servicediscovery"
)

// namespaceFile is a namespace of Cloud Map.
type namespaceFile struct {
	Name     string         `yaml:"name"`
	Kind     string         `yaml:"kind"` // private, public, http; private if empty
	ID       string         `yaml:"id"`
	Services []registryFile `yaml:"services"`
}

// registryFile is a service of Cloud Map.
type registryFile struct {
	Name    string                   `yaml:"name"`
	ID      string                   `yaml:"id"`
	Records map[string]time.Duration `yaml:"records"` // type -> TTL; none: only DiscoverInstances returns the instances
	Routing string                   `yaml:"routing"` // multivalue, weighted; multivalue if empty
	Health  string                   `yaml:"health"`  // custom, none; custom if empty
}

func (f *worldFile) checkNamespaces() error {
	for i, n := range f.Namespaces {
		at := fmt.Sprintf("namespaces[%d]", i)
		switch {
		case n.Name == "":
			return invalidAt(at, "name is missing")
		case !slices.Contains([]string{"", "private", "public", "http"}, n.Kind):
			return invalidAt(at+".kind", "%q is none of private, public and http", n.Kind)
		case n.ID != "" && !strings.HasPrefix(n.ID, "ns-"):
			return invalidAt(at+".id", "%q is not a namespace ID such as ns-0123456789abcdef", n.ID)
		}
		for j, r := range n.Services {
			if err := r.checkRegistry(fmt.Sprintf("%s.services[%d]", at, j)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r registryFile) checkRegistry(at string) error {
	for kind, ttl := range r.Records {
		if err := checkSeconds(at+".records", map[string]*time.Duration{kind: &ttl}); err != nil {
			return err
		}
	}
	switch {
	case r.Name == "":
		return invalidAt(at, "name is missing")
	case r.ID != "" && !strings.HasPrefix(r.ID, "srv-"):
		return invalidAt(at+".id", "%q is not a service ID such as srv-0123456789abcdef", r.ID)
	case !slices.Contains([]string{"", "multivalue", "weighted"}, r.Routing):
		return invalidAt(at+".routing", "%q is neither multivalue nor weighted", r.Routing)
	case !slices.Contains([]string{"", "custom", "none"}, r.Health):
		return invalidAt(at+".health", "%q is neither custom nor none", r.Health)
	}
	return nil
}

// registryNames returns the Cloud Map services of the file, as "<service>.<namespace>".
func (f *worldFile) registryNames() (names []string) {
	for _, n := range f.Namespaces {
		for _, r := range n.Services {
			names = append(names, r.Name+"."+n.Name)
		}
	}
	return names
}

func (l *worldBuilder) createNamespaces() error {
	for i, n := range l.file.Namespaces {
		at := fmt.Sprintf("namespaces[%d]", i)
		id, err := l.createNamespace(n)
		if err != nil {
			return withPath(at, err)
		}
		for j, r := range n.Services {
			out, err := send(servicediscovery.WithBuildID(l.ctx, r.ID), l, l.discovery.CreateService, r.createInput(id))
			if err != nil {
				return withPath(fmt.Sprintf("%s.services[%d]", at, j), err)
			}
			l.registryARNs[r.Name+"."+n.Name] = *out.Service.Arn
		}
	}
	return nil
}

// createNamespace creates a namespace without the delay of AWS and returns its id.
func (l *worldBuilder) createNamespace(n namespaceFile) (*string, error) {
	ctx := servicediscovery.WithBuildID(l.ctx, n.ID)
	var operation *string
	switch n.Kind {
	case "http":
		out, err := send(ctx, l, l.discovery.CreateHttpNamespace, &awssd.CreateHttpNamespaceInput{Name: aws.String(n.Name)})
		if err != nil {
			return nil, err
		}
		operation = out.OperationId
	case "public":
		out, err := send(ctx, l, l.discovery.CreatePublicDnsNamespace,
			&awssd.CreatePublicDnsNamespaceInput{Name: aws.String(n.Name)})
		if err != nil {
			return nil, err
		}
		operation = out.OperationId
	default:
		out, err := send(ctx, l, l.discovery.CreatePrivateDnsNamespace,
			&awssd.CreatePrivateDnsNamespaceInput{Name: aws.String(n.Name), Vpc: aws.String(l.vpc)})
		if err != nil {
			return nil, err
		}
		operation = out.OperationId
	}
	out, err := send(ctx, l, l.discovery.GetOperation, &awssd.GetOperationInput{OperationId: operation})
	if err != nil {
		return nil, err
	}
	return aws.String(out.Operation.Targets["NAMESPACE"]), nil
}

func (r registryFile) createInput(namespace *string) *awssd.CreateServiceInput {
	in := &awssd.CreateServiceInput{Name: aws.String(r.Name), NamespaceId: namespace}
	if r.Health != "none" {
		in.HealthCheckCustomConfig = &sdtypes.HealthCheckCustomConfig{}
	}
	if len(r.Records) == 0 {
		return in
	}
	in.DnsConfig = &sdtypes.DnsConfig{RoutingPolicy: sdtypes.RoutingPolicy(strings.ToUpper(r.Routing))}
	for _, kind := range slices.Sorted(maps.Keys(r.Records)) {
		in.DnsConfig.DnsRecords = append(in.DnsConfig.DnsRecords, sdtypes.DnsRecord{
			Type: sdtypes.RecordType(kind), TTL: aws.Int64(int64(r.Records[kind] / time.Second))})
	}
	return in
}

// serviceRegistries returns the service registry of a service's tasks; with SRV records, with its
// port.
func (l *worldBuilder) serviceRegistries(svc serviceFile) []ecstypes.ServiceRegistry {
	if svc.Registry == "" {
		return nil
	}
	x := ecstypes.ServiceRegistry{RegistryArn: aws.String(l.registryARNs[svc.Registry])}
	for _, n := range l.file.Namespaces {
		for _, r := range n.Services {
			if _, srv := r.Records["SRV"]; srv && r.Name+"."+n.Name == svc.Registry {
				x.Port = aws.Int32(cmp.Or(svc.Port, 80))
			}
		}
	}
	return []ecstypes.ServiceRegistry{x}
}
