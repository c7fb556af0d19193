package servicediscovery_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"
	sdtypes "github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"

	"github.com/sluice-ecs/sluice/awssim/servicediscovery"
	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

type stopped struct{}

func (stopped) Now() time.Time                             { return time.Unix(1_800_000_000, 0) }
func (stopped) Sleep(context.Context, time.Duration) error { return nil }

func client() *awssd.Client {
	w := world.New(world.Options{Clock: stopped{}, Strict: true})
	return awssd.NewFromConfig(aws.Config{Region: "eu-west-1", HTTPClient: &http.Client{Transport: wire.New(w, servicediscovery.Room(w))},
		BaseEndpoint: aws.String("http://sim"), Retryer: func() aws.Retryer { return aws.NopRetryer{} },
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "123456789012", SecretAccessKey: "x"}, nil
		})})
}

func TestThereIsNothingToList(t *testing.T) {
	ctx, c := context.Background(), client()
	namespaces, err := c.ListNamespaces(ctx, &awssd.ListNamespacesInput{Filters: []sdtypes.NamespaceFilter{{Name: "TYPE", Values: []string{"HTTP"}}}})
	if err != nil || len(namespaces.Namespaces) != 0 {
		t.Errorf("namespaces %+v, %v", namespaces, err)
	}
	services, err := c.ListServices(ctx, &awssd.ListServicesInput{})
	if err != nil || len(services.Services) != 0 {
		t.Errorf("services %+v, %v", services, err)
	}
	operations, err := c.ListOperations(ctx, &awssd.ListOperationsInput{})
	if err != nil || len(operations.Operations) != 0 {
		t.Errorf("operations %+v, %v", operations, err)
	}
}

func TestNothingIsFound(t *testing.T) {
	ctx, c, id := context.Background(), client(), aws.String("x")
	_, err := c.GetNamespace(ctx, &awssd.GetNamespaceInput{Id: id})
	typed[*sdtypes.NamespaceNotFound](t, err)
	_, err = c.GetService(ctx, &awssd.GetServiceInput{Id: id})
	typed[*sdtypes.ServiceNotFound](t, err)
	_, err = c.GetOperation(ctx, &awssd.GetOperationInput{OperationId: id})
	typed[*sdtypes.OperationNotFound](t, err)
	_, err = c.ListInstances(ctx, &awssd.ListInstancesInput{ServiceId: id})
	typed[*sdtypes.ServiceNotFound](t, err)
	_, err = c.GetInstance(ctx, &awssd.GetInstanceInput{ServiceId: id, InstanceId: id})
	typed[*sdtypes.ServiceNotFound](t, err)
	_, err = c.GetInstancesHealthStatus(ctx, &awssd.GetInstancesHealthStatusInput{ServiceId: id})
	typed[*sdtypes.ServiceNotFound](t, err)
	_, err = c.DiscoverInstances(ctx, &awssd.DiscoverInstancesInput{NamespaceName: id, ServiceName: id})
	typed[*sdtypes.NamespaceNotFound](t, err)
	_, err = c.DiscoverInstancesRevision(ctx, &awssd.DiscoverInstancesRevisionInput{NamespaceName: id, ServiceName: id})
	typed[*sdtypes.NamespaceNotFound](t, err)
}

func TestRefusedQuestions(t *testing.T) {
	ctx, c := context.Background(), client()
	_, err := c.ListServices(ctx, &awssd.ListServicesInput{MaxResults: aws.Int32(101)})
	typed[*sdtypes.InvalidInput](t, err)
	_, err = c.ListServices(ctx, &awssd.ListServicesInput{NextToken: aws.String("x")})
	typed[*sdtypes.InvalidInput](t, err)
	_, err = c.ListNamespaces(ctx, &awssd.ListNamespacesInput{Filters: []sdtypes.NamespaceFilter{{Name: "NOPE", Values: []string{"x"}}}})
	typed[*sdtypes.InvalidInput](t, err)
}

func typed[E error](t *testing.T, err error) {
	t.Helper()
	var e E
	if !errors.As(err, &e) {
		t.Errorf("got %v, want %T", err, e)
	}
}
