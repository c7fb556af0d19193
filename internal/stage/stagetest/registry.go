package stagetest

import (
	"context"
	"strings"
	"testing/fstest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"
	sdtypes "github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"
)

// Registry is the Cloud Map name web.shop.local.
type Registry struct {
	bench *Bench
	API   *awssd.Client
	ID    *string
	arn   string
}

// CreateRegistry creates the name web.shop.local.
func (b *Bench) CreateRegistry() Registry {
	b.Helper()
	ctx := context.Background()
	r := Registry{bench: b, API: awssd.NewFromConfig(b.Sim.Config())}
	made := Got(r.API.CreatePrivateDnsNamespace(ctx, &awssd.CreatePrivateDnsNamespaceInput{Name: aws.String("shop.local"),
		Vpc: aws.String(b.VPC())}))(b)
	var namespace string
	b.Until("the namespace exists", func() bool {
		o := Got(r.API.GetOperation(ctx, &awssd.GetOperationInput{OperationId: made.OperationId}))(b).Operation
		namespace = o.Targets["NAMESPACE"]
		return o.Status == sdtypes.OperationStatusSuccess
	})
	s := Got(r.API.CreateService(ctx, &awssd.CreateServiceInput{Name: aws.String("web"), NamespaceId: &namespace,
		DnsConfig: &sdtypes.DnsConfig{
			DnsRecords: []sdtypes.DnsRecord{{Type: sdtypes.RecordTypeA, TTL: aws.Int64(10)}}},
		HealthCheckCustomConfig: &sdtypes.HealthCheckCustomConfig{FailureThreshold: aws.Int32(1)}}))(b).Service
	r.ID, r.arn = s.Id, *s.Arn
	return r
}

// Of adds the name to the service definition of the files, whose pipeline shifts the load balancer's requests.
func (r Registry) Of(files fstest.MapFS) fstest.MapFS {
	text := string(files["servicedef.yaml"].Data) + "\nserviceRegistries: [{registryArn: " + r.arn + "}]\n"
	files["servicedef.yaml"] = &fstest.MapFile{Data: []byte(text)}
	text = strings.Replace(string(files["sluice.yaml"].Data), "input:\n", "input:\n  accessType: ELB\n", 1)
	files["sluice.yaml"] = &fstest.MapFile{Data: []byte(text)}
	return files
}

// Register registers an address of others.
func (r Registry) Register(id, address string) {
	r.bench.Helper()
	Got(r.API.RegisterInstance(context.Background(), &awssd.RegisterInstanceInput{ServiceId: r.ID, InstanceId: &id,
		Attributes: map[string]string{"AWS_INSTANCE_IPV4": address, "AWS_INIT_HEALTH_STATUS": "HEALTHY"}}))(r.bench)
}

// DeregisterAll deregisters all instances.
func (r Registry) DeregisterAll() {
	r.bench.Helper()
	ctx := context.Background()
	for _, i := range Got(r.API.ListInstances(ctx, &awssd.ListInstancesInput{ServiceId: r.ID}))(r.bench).Instances {
		Got(r.API.DeregisterInstance(ctx, &awssd.DeregisterInstanceInput{ServiceId: r.ID, InstanceId: i.Id}))(r.bench)
	}
}

// Delete deletes the registry after its instances.
func (r Registry) Delete() {
	r.bench.Helper()
	r.DeregisterAll()
	Must(r.bench, r.bench.Clock.Sleep(context.Background(), time.Minute))
	Got(r.API.DeleteService(context.Background(), &awssd.DeleteServiceInput{Id: r.ID}))(r.bench)
}
