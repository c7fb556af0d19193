package servicediscovery

import (
	"context"

	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"
	sdtypes "github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// ListNamespaces answers that there is none.
func (*Service) ListNamespaces(_ context.Context, in *awssd.ListNamespacesInput) (*awssd.ListNamespacesOutput, error) {
	if err := page(in.MaxResults, in.NextToken, 100); err != nil {
		return nil, err
	}
	for _, f := range in.Filters {
		if err := filter(f.Name, f.Values, "TYPE", "NAME", "HTTP_NAME", "RESOURCE_OWNER"); err != nil {
			return nil, err
		}
	}
	return &awssd.ListNamespacesOutput{Namespaces: []sdtypes.NamespaceSummary{}}, nil
}

// ListServices answers that there is none.
func (*Service) ListServices(_ context.Context, in *awssd.ListServicesInput) (*awssd.ListServicesOutput, error) {
	if err := page(in.MaxResults, in.NextToken, 100); err != nil {
		return nil, err
	}
	for _, f := range in.Filters {
		if err := filter(f.Name, f.Values, "NAMESPACE_ID", "RESOURCE_OWNER"); err != nil {
			return nil, err
		}
	}
	return &awssd.ListServicesOutput{Services: []sdtypes.ServiceSummary{}}, nil
}

// ListOperations answers that there was none.
func (*Service) ListOperations(_ context.Context, in *awssd.ListOperationsInput) (*awssd.ListOperationsOutput, error) {
	if err := page(in.MaxResults, in.NextToken, 100); err != nil {
		return nil, err
	}
	for _, f := range in.Filters {
		if err := filter(f.Name, f.Values, "NAMESPACE_ID", "SERVICE_ID", "STATUS", "TYPE", "UPDATE_DATE"); err != nil {
			return nil, err
		}
	}
	return &awssd.ListOperationsOutput{Operations: []sdtypes.OperationSummary{}}, nil
}

// GetNamespace finds none.
func (*Service) GetNamespace(_ context.Context, in *awssd.GetNamespaceInput) (*awssd.GetNamespaceOutput, error) {
	if err := given(in.Id, "id"); err != nil {
		return nil, err
	}
	return nil, world.Refuse("NamespaceNotFound", "Namespace not found")
}

// GetService finds none.
func (*Service) GetService(_ context.Context, in *awssd.GetServiceInput) (*awssd.GetServiceOutput, error) {
	return nil, noService(in.Id, "id")
}

// GetServiceAttributes finds no service.
func (*Service) GetServiceAttributes(_ context.Context, in *awssd.GetServiceAttributesInput) (*awssd.GetServiceAttributesOutput, error) {
	return nil, noService(in.ServiceId, "serviceId")
}

// GetOperation finds none.
func (*Service) GetOperation(_ context.Context, in *awssd.GetOperationInput) (*awssd.GetOperationOutput, error) {
	if err := given(in.OperationId, "operationId"); err != nil {
		return nil, err
	}
	return nil, world.Refuse("OperationNotFound", "Operation not found")
}

// GetInstance finds no service.
func (*Service) GetInstance(_ context.Context, in *awssd.GetInstanceInput) (*awssd.GetInstanceOutput, error) {
	if err := given(in.InstanceId, "instanceId"); err != nil {
		return nil, err
	}
	return nil, noService(in.ServiceId, "serviceId")
}

// GetInstancesHealthStatus finds no service.
func (*Service) GetInstancesHealthStatus(_ context.Context, in *awssd.GetInstancesHealthStatusInput) (*awssd.GetInstancesHealthStatusOutput, error) {
	return nil, noService(in.ServiceId, "serviceId")
}

// ListInstances finds no service.
func (*Service) ListInstances(_ context.Context, in *awssd.ListInstancesInput) (*awssd.ListInstancesOutput, error) {
	if err := page(in.MaxResults, nil, 100); err != nil {
		return nil, err
	}
	return nil, noService(in.ServiceId, "serviceId")
}

// DiscoverInstances finds no namespace.
func (*Service) DiscoverInstances(_ context.Context, in *awssd.DiscoverInstancesInput) (*awssd.DiscoverInstancesOutput, error) {
	if err := page(in.MaxResults, nil, 1000); err != nil {
		return nil, err
	}
	return nil, noNamespace(in.NamespaceName, in.ServiceName)
}

// DiscoverInstancesRevision finds no namespace.
func (*Service) DiscoverInstancesRevision(_ context.Context, in *awssd.DiscoverInstancesRevisionInput) (*awssd.DiscoverInstancesRevisionOutput, error) {
	return nil, noNamespace(in.NamespaceName, in.ServiceName)
}

// ListTagsForResource finds no resource.
func (*Service) ListTagsForResource(_ context.Context, in *awssd.ListTagsForResourceInput) (*awssd.ListTagsForResourceOutput, error) {
	if err := given(in.ResourceARN, "resourceARN"); err != nil {
		return nil, err
	}
	return nil, world.Refuse("ResourceNotFoundException", "Resource not found")
}
