package cloudmap

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"
	sdtypes "github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// FindRegistry reads the registry that a service names by ARN, and its namespace. port is the port
// that ECS registers, 0 for none.
func FindRegistry(ctx context.Context, api *awssd.Client, arn string, port int32) (plan.Registry, error) {
	got, err := api.GetService(ctx, &awssd.GetServiceInput{Id: aws.String(sluice.ARNName(arn))})
	if err != nil {
		return plan.Registry{}, &sluice.Error{Op: "look up the service registry", Resource: arn,
			Kind: sluice.KindOf(err), Err: sluice.Inner(err),
			Next: "check serviceRegistries in the service definition, and the Region: " + listCommand}
	}
	r := registryOf(got.Service)
	r.Port = port
	space, err := api.GetNamespace(ctx, &awssd.GetNamespaceInput{Id: got.Service.NamespaceId})
	if err != nil {
		return r, fmt.Errorf("look up the namespace of %s: %w", r.Name, sluice.Inner(err))
	}
	r.Namespace, r.Kind = aws.ToString(space.Namespace.Name), string(space.Namespace.Type)
	return r, nil
}

func registryOf(s *sdtypes.Service) plan.Registry {
	r := plan.Registry{ARN: aws.ToString(s.Arn), ID: aws.ToString(s.Id), Name: aws.ToString(s.Name),
		Custom: s.HealthCheckCustomConfig != nil, Route53: s.HealthCheckConfig != nil}
	if s.DnsConfig == nil {
		return r
	}
	r.Weighted = s.DnsConfig.RoutingPolicy == sdtypes.RoutingPolicyWeighted
	for _, rec := range s.DnsConfig.DnsRecords {
		r.Records = append(r.Records, plan.Record{Type: string(rec.Type),
			TTL: time.Duration(aws.ToInt64(rec.TTL)) * time.Second})
	}
	return r
}
