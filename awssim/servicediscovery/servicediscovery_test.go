package servicediscovery_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"
	sdtypes "github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"
	smithy "github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice/awssim/cloudmap"
	"github.com/sluice-ecs/sluice/awssim/servicediscovery"
	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

var (
	ctx = context.Background()
	key = world.Key{Account: "123456789012", Region: "eu-west-1"}
)

// bench is a world with Cloud Map, the SDK's client of it and a clock moved by hand.
type bench struct {
	*awssd.Client
	t     *testing.T
	now   time.Time
	world *world.World
	law   *cloudmap.Controller
}

func (b *bench) Now() time.Time                             { return b.now }
func (b *bench) Sleep(context.Context, time.Duration) error { panic("nobody sleeps here") }
func (b *bench) pass(d time.Duration)                       { b.now = b.now.Add(d); b.world.Advance() }

func newBench(t *testing.T, change func(*world.Settings)) *bench {
	b := &bench{t: t, now: time.Unix(1_800_000_000, 0)}
	k := world.DefaultSettings()
	if change != nil {
		change(&k)
	}
	b.world = world.New(world.Options{Clock: b, Seed: 5, Settings: &k, Strict: true})
	b.world.OnNewRegion(func(tx *world.Tx) {
		tx.VPCs.Put("vpc-1", &world.VPC{ID: "vpc-1", CIDR: netip.MustParsePrefix("127.16.0.0/16")})
	})
	b.law = cloudmap.New(b.world)
	b.Client = awssd.NewFromConfig(aws.Config{Region: key.Region, BaseEndpoint: aws.String("http://sim"),
		HTTPClient: &http.Client{Transport: wire.New(b.world, servicediscovery.New(b.world, b.law).API())},
		Retryer:    func() aws.Retryer { return aws.NopRetryer{} },
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: key.Account, SecretAccessKey: "x"}, nil
		})})
	return b
}

func must[T any](out T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
}

func typed[E error](t *testing.T, err error) (e E) {
	t.Helper()
	if !errors.As(err, &e) {
		t.Errorf("got %v, want %T", err, e)
	}
	return e
}

// says fails unless the error has that text.
func says(t *testing.T, err error, want string) {
	t.Helper()
	var api smithy.APIError
	if !errors.As(err, &api) || !strings.Contains(api.ErrorMessage(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// done lets an operation end and is how it ended.
func (b *bench) done(id *string) *sdtypes.Operation {
	b.t.Helper()
	for range 200 {
		if o := b.operation(id); o.Status == "SUCCESS" || o.Status == "FAIL" {
			return o
		}
		b.pass(time.Second)
	}
	b.t.Fatal("the operation does not end")
	return nil
}

func (b *bench) operation(id *string) *sdtypes.Operation {
	b.t.Helper()
	return must(b.GetOperation(ctx, &awssd.GetOperationInput{OperationId: id}))(b.t).Operation
}

// private makes a private namespace and is its id.
func (b *bench) private(name string) *string {
	b.t.Helper()
	out := must(b.CreatePrivateDnsNamespace(ctx, &awssd.CreatePrivateDnsNamespaceInput{Name: aws.String(name),
		Vpc: aws.String("vpc-1")}))(b.t)
	return aws.String(b.done(out.OperationId).Targets["NAMESPACE"])
}

func records(ttl int64, kinds ...sdtypes.RecordType) *sdtypes.DnsConfig {
	d := &sdtypes.DnsConfig{}
	for _, k := range kinds {
		d.DnsRecords = append(d.DnsRecords, sdtypes.DnsRecord{Type: k, TTL: aws.Int64(ttl)})
	}
	return d
}

// service makes one with A records and custom health.
func (b *bench) service(namespace *string, name string) *sdtypes.Service {
	b.t.Helper()
	return must(b.CreateService(ctx, &awssd.CreateServiceInput{Name: aws.String(name), NamespaceId: namespace,
		DnsConfig:               records(10, "A"),
		HealthCheckCustomConfig: &sdtypes.HealthCheckCustomConfig{FailureThreshold: aws.Int32(1)}}))(b.t).Service
}

func (b *bench) register(service *string, id, address string, more ...string) *string {
	b.t.Helper()
	return must(b.RegisterInstance(ctx, registration(service, id, address, more...)))(b.t).OperationId
}

func registration(service *string, id, address string, more ...string) *awssd.RegisterInstanceInput {
	a := map[string]string{"AWS_INSTANCE_IPV4": address}
	for i := 0; i < len(more); i += 2 {
		a[more[i]] = more[i+1]
	}
	return &awssd.RegisterInstanceInput{ServiceId: service, InstanceId: aws.String(id), Attributes: a}
}

func TestNamespacesFromBirthToDeath(t *testing.T) {
	b := newBench(t, nil)
	out := must(b.CreatePrivateDnsNamespace(ctx, &awssd.CreatePrivateDnsNamespaceInput{Name: aws.String("shop.local"),
		Vpc:         aws.String("vpc-1"),
		Description: aws.String("d"), Tags: []sdtypes.Tag{{Key: aws.String("a"), Value: aws.String("b")}}}))(t)
	if o := b.operation(out.OperationId); o.Status != "SUBMITTED" || o.Type != "CREATE_NAMESPACE" {
		t.Errorf("%+v", o)
	}
	_, err := b.CreateHttpNamespace(ctx, &awssd.CreateHttpNamespaceInput{Name: aws.String("shop.local")})
	if d := typed[*sdtypes.DuplicateRequest](t, err); aws.ToString(d.DuplicateOperationId) != *out.OperationId {
		t.Errorf("%+v", d)
	}
	o := b.done(out.OperationId)
	if o.Status != "SUCCESS" || o.UpdateDate.Before(*o.CreateDate) {
		t.Errorf("%+v", o)
	}
	id := aws.String(o.Targets["NAMESPACE"])
	n := must(b.GetNamespace(ctx, &awssd.GetNamespaceInput{Id: id}))(t).Namespace
	if n.Type != "DNS_PRIVATE" || *n.Properties.DnsProperties.HostedZoneId == "" ||
		*n.Properties.DnsProperties.SOA.TTL != 15 ||
		*n.Arn != "arn:aws:servicediscovery:eu-west-1:123456789012:namespace/"+*id {
		t.Errorf("%+v", n)
	}
	_, err = b.CreateHttpNamespace(ctx, &awssd.CreateHttpNamespaceInput{Name: aws.String("shop.local")})
	if e := typed[*sdtypes.NamespaceAlreadyExists](t, err); aws.ToString(e.NamespaceId) != *id {
		t.Errorf("%+v", e)
	}
	b.done(must(b.UpdatePrivateDnsNamespace(ctx, &awssd.UpdatePrivateDnsNamespaceInput{Id: n.Arn,
		Namespace: &sdtypes.PrivateDnsNamespaceChange{
			Properties: &sdtypes.PrivateDnsNamespacePropertiesChange{DnsProperties: &sdtypes.PrivateDnsPropertiesMutableChange{SOA: &sdtypes.SOAChange{TTL: aws.Int64(60)}}}}}))(t).OperationId)
	if n = must(b.GetNamespace(ctx,
		&awssd.GetNamespaceInput{Id: id}))(t).Namespace; *n.Properties.DnsProperties.SOA.TTL != 60 ||
		*n.Description != "d" {
		t.Errorf("%+v", n)
	}
	svc := b.service(id, "api")
	_, err = b.DeleteNamespace(ctx, &awssd.DeleteNamespaceInput{Id: id})
	typed[*sdtypes.ResourceInUse](t, err)
	must(b.DeleteService(ctx, &awssd.DeleteServiceInput{Id: svc.Id}))(t)
	b.done(must(b.DeleteNamespace(ctx, &awssd.DeleteNamespaceInput{Id: id}))(t).OperationId)
	_, err = b.GetNamespace(ctx, &awssd.GetNamespaceInput{Id: id})
	typed[*sdtypes.NamespaceNotFound](t, err)
	if len(b.law.Tables()) != 0 {
		t.Errorf("still found: %+v", b.law.Tables())
	}
}

func TestAnOperationFailsLater(t *testing.T) {
	b := newBench(t, nil)
	out := must(b.CreatePrivateDnsNamespace(ctx, &awssd.CreatePrivateDnsNamespaceInput{Name: aws.String("shop.local"),
		Vpc: aws.String("vpc-none")}))(t)
	if o := b.done(out.OperationId); o.Status != "FAIL" || aws.ToString(o.ErrorCode) != "CANNOT_CREATE_HOSTED_ZONE" {
		t.Errorf("%+v", o)
	}
	b.law.SetFailFunc(func(_ *world.Tx, call string) bool { return call == "RegisterInstance" })
	svc := b.service(b.private("shop.local"), "api")
	if o := b.done(b.register(svc.Id, "i", "127.16.0.5")); o.Status != "FAIL" || *o.ErrorCode != "INTERNAL_FAILURE" ||
		*o.ErrorMessage == "" {
		t.Errorf("%+v", o)
	}
	if got := must(b.ListInstances(ctx, &awssd.ListInstancesInput{ServiceId: svc.Id}))(t); len(got.Instances) != 0 {
		t.Errorf("%+v", got.Instances)
	}
}

func TestServicesAreCheckedAndShown(t *testing.T) {
	b := newBench(t, nil)
	private := b.private("shop.local")
	http := aws.String(b.done(must(b.CreateHttpNamespace(ctx,
		&awssd.CreateHttpNamespaceInput{Name: aws.String("plain")}))(t).OperationId).Targets["NAMESPACE"])
	custom := &sdtypes.HealthCheckCustomConfig{}
	for want, in := range map[string]awssd.CreateServiceInput{
		"DnsConfig is not supported": {Name: aws.String("a"), NamespaceId: http, DnsConfig: records(1, "A")},
		"mutually exclusive": {Name: aws.String("a"), NamespaceId: private,
			HealthCheckConfig: &sdtypes.HealthCheckConfig{Type: "HTTP"}, HealthCheckCustomConfig: custom},
		"only supported for services in": {Name: aws.String("a"), NamespaceId: private,
			HealthCheckConfig: &sdtypes.HealthCheckConfig{Type: "HTTP"}},
		"require the routing policy": {Name: aws.String("a"), NamespaceId: private, DnsConfig: records(1, "CNAME")},
		"Duplicate DNS record": {Name: aws.String("a"), NamespaceId: private,
			DnsConfig: records(1, "A", "A")},
		"must have value greater than or equal to 0": {Name: aws.String("a"), NamespaceId: private,
			DnsConfig: records(-1, "A")},
		"regular expression": {Name: aws.String("a b"), NamespaceId: private},
	} {
		_, err := b.CreateService(ctx, &in)
		typed[*sdtypes.InvalidInput](t, err)
		says(t, err, want)
	}
	_, err := b.CreateService(ctx, &awssd.CreateServiceInput{Name: aws.String("a"), NamespaceId: aws.String("ns-none")})
	typed[*sdtypes.NamespaceNotFound](t, err)
	svc := b.service(private, "api")
	if svc.Type != "DNS_HTTP" || svc.DnsConfig.RoutingPolicy != "MULTIVALUE" ||
		*svc.DnsConfig.DnsRecords[0].TTL != 10 || *svc.HealthCheckCustomConfig.FailureThreshold != 1 ||
		*svc.NamespaceId != *private {
		t.Errorf("%+v", svc)
	}
	_, err = b.CreateService(ctx, &awssd.CreateServiceInput{Name: aws.String("API"), NamespaceId: private})
	if e := typed[*sdtypes.ServiceAlreadyExists](t, err); aws.ToString(e.ServiceId) != *svc.Id {
		t.Errorf("%+v", e)
	}
	must(b.CreateService(ctx, &awssd.CreateServiceInput{Name: aws.String("other"), NamespaceId: http}))(t)
	list := must(b.ListServices(ctx,
		&awssd.ListServicesInput{Filters: []sdtypes.ServiceFilter{{Name: "NAMESPACE_ID", Values: []string{*http}}}}))(t)
	if len(list.Services) != 1 || *list.Services[0].Name != "other" || list.Services[0].Type != "HTTP" {
		t.Errorf("%+v", list.Services)
	}
	b.done(must(b.UpdateService(ctx,
		&awssd.UpdateServiceInput{Id: svc.Id,
			Service: &sdtypes.ServiceChange{DnsConfig: &sdtypes.DnsConfigChange{DnsRecords: records(60,
				"A").DnsRecords}}}))(t).OperationId)
	got := must(b.GetService(ctx, &awssd.GetServiceInput{Id: svc.Arn}))(t).Service
	if *got.DnsConfig.DnsRecords[0].TTL != 60 || got.HealthCheckCustomConfig == nil {
		t.Errorf("%+v", got)
	}
	b.done(must(b.UpdateService(ctx,
		&awssd.UpdateServiceInput{Id: svc.Id,
			Service: &sdtypes.ServiceChange{Description: aws.String("x")}}))(t).OperationId)
	if got := must(b.GetService(ctx, &awssd.GetServiceInput{Id: svc.Id}))(t).Service; got.DnsConfig != nil ||
		got.HealthCheckCustomConfig == nil {
		t.Errorf("what an update leaves out is deleted, but the custom check: %+v", got)
	}
}

func TestInstancesFromBirthToDeath(t *testing.T) {
	b := newBench(t, nil)
	svc := b.service(b.private("shop.local"), "api")
	in := registration(svc.Id, "i-1", "127.16.0.5", "version", "v1")
	in.CreatorRequestId = aws.String("me")
	first := must(b.RegisterInstance(ctx, in))(t).OperationId
	_, err := b.RegisterInstance(ctx, registration(svc.Id, "i-1", "127.16.0.6"))
	if d := typed[*sdtypes.DuplicateRequest](t, err); aws.ToString(d.DuplicateOperationId) != *first {
		t.Errorf("%+v", d)
	}
	_, err = b.DeregisterInstance(ctx, &awssd.DeregisterInstanceInput{ServiceId: svc.Id, InstanceId: aws.String("i-1")})
	typed[*sdtypes.ResourceInUse](t, err)
	_, err = b.DeleteService(ctx, &awssd.DeleteServiceInput{Id: svc.Id})
	typed[*sdtypes.ResourceInUse](t, err)
	if o := b.done(first); o.Targets["INSTANCE"] != "i-1" || o.Targets["SERVICE"] != *svc.Id {
		t.Errorf("%+v", o)
	}
	i := must(b.GetInstance(ctx, &awssd.GetInstanceInput{ServiceId: svc.Id, InstanceId: aws.String("i-1")}))(t).Instance
	if i.Attributes["version"] != "v1" || *i.CreatorRequestId != "me" {
		t.Errorf("%+v", i)
	}
	b.done(b.register(svc.Id, "i-1", "127.16.0.7"))
	list := must(b.ListInstances(ctx, &awssd.ListInstancesInput{ServiceId: svc.Id}))(t).Instances
	if len(list) != 1 || list[0].Attributes["AWS_INSTANCE_IPV4"] != "127.16.0.7" ||
		list[0].Attributes["version"] != "" {
		t.Errorf("overwritten: %+v", list)
	}
	_, err = b.DeleteService(ctx, &awssd.DeleteServiceInput{Id: svc.Id})
	says(t, err, "Service contains registered instances; delete the instances before deleting the service")
	b.done(must(b.DeregisterInstance(ctx, &awssd.DeregisterInstanceInput{ServiceId: svc.Id,
		InstanceId: aws.String("i-1")}))(t).OperationId)
	_, err = b.DeregisterInstance(ctx, &awssd.DeregisterInstanceInput{ServiceId: svc.Id, InstanceId: aws.String("i-1")})
	typed[*sdtypes.InstanceNotFound](t, err)
	must(b.DeleteService(ctx, &awssd.DeleteServiceInput{Id: svc.Id}))(t)
}

func TestInstancesAreRefused(t *testing.T) {
	b := newBench(t, nil)
	private := b.private("shop.local")
	svc := b.service(private, "api")
	srv := must(b.CreateService(ctx, &awssd.CreateServiceInput{Name: aws.String("srv"), NamespaceId: private,
		DnsConfig: records(10, "SRV")}))(t).Service
	many := registration(svc.Id, "i", "127.16.0.5")
	for i := range 31 {
		many.Attributes["k"+string(rune('a'+i%26))+string(rune('a'+i/26))] = "v"
	}
	for want, in := range map[string]*awssd.RegisterInstanceInput{
		"need the attribute AWS_INSTANCE_IPV4": {ServiceId: svc.Id, InstanceId: aws.String("i"),
			Attributes: map[string]string{"a": "b"}},
		"Invalid value for attribute AWS_INSTANCE_IPV4": registration(svc.Id, "i", "nowhere"),
		"need the attribute AWS_INSTANCE_PORT":          registration(srv.Id, "i", "127.16.0.5"),
		"AWS_INIT_HEALTH_STATUS is only supported": registration(srv.Id, "i", "127.16.0.5", "AWS_INSTANCE_PORT",
			"80", "AWS_INIT_HEALTH_STATUS", "HEALTHY"),
		"Attributes starting with AWS_ are reserved": registration(svc.Id, "i", "127.16.0.5", "AWS_NEW", "x"),
		"AWS_EC2_INSTANCE_ID is only supported": registration(svc.Id, "i", "127.16.0.5", "AWS_EC2_INSTANCE_ID",
			"i-1"),
		"too long": registration(svc.Id, "i", "127.16.0.5", "k",
			strings.Repeat("x", 1025)),
		"at most 30 custom attributes":                   many,
		"regular expression":                             registration(svc.Id, "a b", "127.16.0.5"),
		"Member must have length less than or equal to ": registration(svc.Id, strings.Repeat("i", 65), "127.16.0.5"),
	} {
		_, err := b.RegisterInstance(ctx, in)
		typed[*sdtypes.InvalidInput](t, err)
		says(t, err, want)
	}
	_, err := b.RegisterInstance(ctx, registration(aws.String("srv-none"), "i", "127.16.0.5"))
	typed[*sdtypes.ServiceNotFound](t, err)
}

func TestCustomHealthHoldsHalfAMinuteLater(t *testing.T) {
	b := newBench(t, nil)
	svc := b.service(b.private("shop.local"), "api")
	b.done(b.register(svc.Id, "i", "127.16.0.5", "AWS_INIT_HEALTH_STATUS", "UNHEALTHY"))
	b.pass(5 * time.Second) // its health is there by then
	health := func() sdtypes.HealthStatus {
		return must(b.GetInstancesHealthStatus(ctx, &awssd.GetInstancesHealthStatusInput{ServiceId: svc.Id,
			Instances: []string{"i"}}))(t).Status["i"]
	}
	tell := func(s sdtypes.CustomHealthStatus) {
		must(b.UpdateInstanceCustomHealthStatus(ctx, &awssd.UpdateInstanceCustomHealthStatusInput{ServiceId: svc.Id,
			InstanceId: aws.String("i"), Status: s}))(t)
	}
	if h := health(); h != "UNHEALTHY" {
		t.Errorf("at first %s", h)
	}
	tell("HEALTHY")
	b.pass(20 * time.Second)
	tell("HEALTHY") // neither sooner nor later
	b.pass(9 * time.Second)
	if h := health(); h != "UNHEALTHY" {
		t.Errorf("after 29 s %s", h)
	}
	b.pass(time.Second)
	if h := health(); h != "HEALTHY" {
		t.Errorf("after 30 s %s", h)
	}
	tell("UNHEALTHY")
	b.pass(10 * time.Second)
	tell("HEALTHY") // taken back
	b.pass(time.Minute)
	if h := health(); h != "HEALTHY" {
		t.Errorf("after taking back %s", h)
	}
	plain := must(b.CreateService(ctx, &awssd.CreateServiceInput{Name: aws.String("plain"),
		NamespaceId: svc.NamespaceId, DnsConfig: records(10, "A")}))(t).Service
	b.done(b.register(plain.Id, "i", "127.16.0.5"))
	_, err := b.UpdateInstanceCustomHealthStatus(ctx, &awssd.UpdateInstanceCustomHealthStatusInput{ServiceId: plain.Id,
		InstanceId: aws.String("i"), Status: "HEALTHY"})
	typed[*sdtypes.CustomHealthNotFound](t, err)
}

func TestDiscoverInstances(t *testing.T) {
	b := newBench(t, nil)
	svc := b.service(b.private("shop.local"), "api")
	revision := func() int64 {
		return *must(b.DiscoverInstancesRevision(ctx,
			&awssd.DiscoverInstancesRevisionInput{NamespaceName: aws.String("shop.local"),
				ServiceName: aws.String("api")}))(t).InstancesRevision
	}
	before := revision()
	b.done(b.register(svc.Id, "a", "127.16.0.5", "v", "1", "AWS_INIT_HEALTH_STATUS", "UNHEALTHY"))
	b.done(b.register(svc.Id, "b", "127.16.0.6", "v", "2"))
	b.done(b.register(svc.Id, "c", "127.16.0.7", "v", "2", "zone", "x"))
	if r := revision(); r != before+3 {
		t.Errorf("revision %d after %d", r, before)
	}
	find := func(change func(*awssd.DiscoverInstancesInput)) string {
		in := &awssd.DiscoverInstancesInput{NamespaceName: aws.String("shop.local"), ServiceName: aws.String("api")}
		change(in)
		found := map[string]bool{}
		for _, i := range must(b.DiscoverInstances(ctx, in))(t).Instances {
			found[*i.InstanceId] = true
		}
		text := ""
		for _, id := range []string{"a", "b", "c"} {
			if found[id] {
				text += id
			}
		}
		return text
	}
	for want, change := range map[string]func(*awssd.DiscoverInstancesInput){
		"abc": func(in *awssd.DiscoverInstancesInput) {},
		"bc":  func(in *awssd.DiscoverInstancesInput) { in.HealthStatus = "HEALTHY" },
		"a": func(in *awssd.DiscoverInstancesInput) {
			in.HealthStatus, in.QueryParameters = "HEALTHY_OR_ELSE_ALL", map[string]string{"v": "1"}
		},
		"c": func(in *awssd.DiscoverInstancesInput) { in.OptionalParameters = map[string]string{"zone": "x"} },
		"b": func(in *awssd.DiscoverInstancesInput) {
			in.QueryParameters = map[string]string{"v": "2", "AWS_INSTANCE_IPV4": "127.16.0.6"}
			in.OptionalParameters = map[string]string{"zone": "y"}
		},
		"": func(in *awssd.DiscoverInstancesInput) {
			in.HealthStatus, in.QueryParameters = "HEALTHY", map[string]string{"v": "1"}
		},
	} {
		if got := find(change); got != want {
			t.Errorf("found %q, want %q", got, want)
		}
	}
	first := map[string]int{}
	for range 300 {
		out := must(b.DiscoverInstances(ctx, &awssd.DiscoverInstancesInput{NamespaceName: aws.String("shop.local"),
			ServiceName: aws.String("api"), MaxResults: aws.Int32(1)}))(t)
		first[*out.Instances[0].InstanceId]++
	}
	for id, n := range first {
		if n < 60 || n > 140 {
			t.Errorf("%s came first %d of 300 times", id, n)
		}
	}
	if r := revision(); r != before+3 {
		t.Error("reading changed the revision")
	}
	_, err := b.DiscoverInstances(ctx, &awssd.DiscoverInstancesInput{NamespaceName: aws.String("none"),
		ServiceName: aws.String("api")})
	typed[*sdtypes.NamespaceNotFound](t, err)
	_, err = b.DiscoverInstances(ctx, &awssd.DiscoverInstancesInput{NamespaceName: aws.String("shop.local"),
		ServiceName: aws.String("none")})
	typed[*sdtypes.ServiceNotFound](t, err)
}

func TestDiscoveryHasItsQuota(t *testing.T) {
	b := newBench(t, func(k *world.Settings) { k.Throttle = true })
	b.service(b.private("shop.local"), "api")
	in := &awssd.DiscoverInstancesInput{NamespaceName: aws.String("shop.local"), ServiceName: aws.String("api")}
	for range 2000 {
		must(b.DiscoverInstances(ctx, in))(t)
	}
	_, err := b.DiscoverInstances(ctx, in)
	typed[*sdtypes.RequestLimitExceeded](t, err)
	b.pass(time.Second)
	must(b.DiscoverInstances(ctx, in))(t)
}

func TestPagesFiltersAndTags(t *testing.T) {
	b := newBench(t, nil)
	private := b.private("shop.local")
	svc := b.service(private, "api")
	for _, id := range []string{"a", "b", "c"} {
		b.done(b.register(svc.Id, id, "127.16.0.5"))
	}
	one := must(b.ListInstances(ctx, &awssd.ListInstancesInput{ServiceId: svc.Id, MaxResults: aws.Int32(2)}))(t)
	two := must(b.ListInstances(ctx, &awssd.ListInstancesInput{ServiceId: svc.Id, MaxResults: aws.Int32(2),
		NextToken: one.NextToken}))(t)
	if len(one.Instances) != 2 || len(two.Instances) != 1 || *two.Instances[0].Id != "c" || two.NextToken != nil {
		t.Errorf("%+v %+v", one, two)
	}
	_, err := b.ListServices(ctx, &awssd.ListServicesInput{NextToken: aws.String("x")})
	typed[*sdtypes.InvalidInput](t, err)
	_, err = b.ListNamespaces(ctx,
		&awssd.ListNamespacesInput{Filters: []sdtypes.NamespaceFilter{{Name: "NOPE", Values: []string{"x"}}}})
	typed[*sdtypes.InvalidInput](t, err)
	for value, want := range map[string]int{"shop": 1, "stop": 0} {
		out := must(b.ListNamespaces(ctx,
			&awssd.ListNamespacesInput{Filters: []sdtypes.NamespaceFilter{{Name: "NAME", Condition: "BEGINS_WITH",
				Values: []string{value}}}}))(t)
		if len(out.Namespaces) != want {
			t.Errorf("%s: %+v", value, out.Namespaces)
		}
	}
	ops := must(b.ListOperations(ctx, &awssd.ListOperationsInput{Filters: []sdtypes.OperationFilter{
		{Name: "TYPE", Condition: "IN", Values: []string{"REGISTER_INSTANCE", "DEREGISTER_INSTANCE"}},
		{Name: "SERVICE_ID", Values: []string{*svc.Id}}}}))(t)
	if len(ops.Operations) != 3 || ops.Operations[0].Status != "SUCCESS" {
		t.Errorf("%+v", ops.Operations)
	}
	must(b.TagResource(ctx, &awssd.TagResourceInput{ResourceARN: svc.Arn,
		Tags: []sdtypes.Tag{{Key: aws.String("a"), Value: aws.String("1")},
			{Key: aws.String("b"), Value: aws.String("2")}}}))(t)
	must(b.UntagResource(ctx, &awssd.UntagResourceInput{ResourceARN: svc.Arn, TagKeys: []string{"a"}}))(t)
	if tags := must(b.ListTagsForResource(ctx,
		&awssd.ListTagsForResourceInput{ResourceARN: svc.Arn}))(t).Tags; len(tags) != 1 || *tags[0].Key != "b" {
		t.Errorf("%+v", tags)
	}
	_, err = b.ListTagsForResource(ctx,
		&awssd.ListTagsForResourceInput{ResourceARN: aws.String(
			"arn:aws:servicediscovery:eu-west-1:123456789012:service/srv-none")})
	typed[*sdtypes.ResourceNotFoundException](t, err)
	must(b.UpdateServiceAttributes(ctx, &awssd.UpdateServiceAttributesInput{ServiceId: svc.Id,
		Attributes: map[string]string{"a": "1", "b": "2"}}))(t)
	must(b.DeleteServiceAttributes(ctx, &awssd.DeleteServiceAttributesInput{ServiceId: svc.Id,
		Attributes: []string{"a"}}))(t)
	if a := must(b.GetServiceAttributes(ctx,
		&awssd.GetServiceAttributesInput{ServiceId: svc.Id}))(t).ServiceAttributes.Attributes; len(a) != 1 ||
		a["b"] != "2" {
		t.Errorf("%v", a)
	}
}

// The same calls give the same log, to the byte.
func TestTheSameSeedAndCallsGiveTheSameLog(t *testing.T) {
	run := func() string {
		b := newBench(t, nil)
		svc := b.service(b.private("shop.local"), "api")
		for _, id := range []string{"a", "b", "c"} {
			b.done(b.register(svc.Id, id, "127.16.0.5"))
		}
		order := ""
		for range 20 {
			for _, i := range must(b.DiscoverInstances(ctx,
				&awssd.DiscoverInstancesInput{NamespaceName: aws.String("shop.local"),
					ServiceName: aws.String("api")}))(t).Instances {
				order += *i.InstanceId
			}
		}
		var log strings.Builder
		_ = b.world.WriteLog(&log)
		return log.String() + order
	}
	if a, b := run(), run(); a != b {
		t.Errorf("%s\n----\n%s", a, b)
	}
}

// AWS: "There's a brief delay between when you register an instance and when the
// health status for the instance is available."
func TestTheHealthOfANewInstanceIsNotThereAtOnce(t *testing.T) {
	b := newBench(t, func(k *world.Settings) {
		k.InstanceHealthGap = world.Range{Min: 5 * time.Second,
			Max: 5 * time.Second}
	})
	svc := b.service(b.private("shop.local"), "api")
	b.done(b.register(svc.Id, "old", "127.16.0.5"))
	b.pass(10 * time.Second)
	b.done(b.register(svc.Id, "new", "127.16.0.6"))
	known := func(ids ...string) int {
		return len(must(b.GetInstancesHealthStatus(ctx, &awssd.GetInstancesHealthStatusInput{ServiceId: svc.Id,
			Instances: ids}))(t).Status)
	}
	if known() != 1 || known("new") != 0 || known("old", "new") != 1 {
		t.Errorf("at once the health of %d, %d and %d instances is there", known(), known("new"), known("old", "new"))
	}
	b.pass(5 * time.Second)
	if known() != 2 || known("new") != 1 {
		t.Errorf("later the health of %d instances is there", known())
	}
}

// Registrations have a rate of their own, and the code that AWS's controllers see.
func TestWritesHaveARate(t *testing.T) {
	b := newBench(t, nil)
	svc := b.service(b.private("shop.local"), "api")
	b.pass(time.Second)
	throttled := newBench(t, func(k *world.Settings) { k.Throttle = true })
	other := throttled.service(throttled.private("shop.local"), "api")
	throttled.pass(10 * time.Second)
	for name, c := range map[string]struct {
		b       *bench
		service *string
		passed  int
		later   int
	}{"with throttling": {throttled, other.Id, 100, 50}, "without": {b, svc.Id, 120, 120}} {
		write := func() (passed int) {
			for i := range 120 {
				_, err := c.b.RegisterInstance(ctx, registration(c.service, fmt.Sprintf("%d-%d", c.b.now.Unix(), i),
					"127.16.0.5"))
				if err == nil {
					passed++
					continue
				}
				says(t, err, "Rate exceeded")
				if api := smithy.APIError(nil); !errors.As(err, &api) || api.ErrorCode() != "ThrottlingException" {
					t.Errorf("%v", err)
				}
			}
			return passed
		}
		if n := write(); n != c.passed {
			t.Errorf("%s: %d of 120 registrations passed, want %d", name, n, c.passed)
		}
		c.b.pass(time.Second)
		if n := write(); n != c.later {
			t.Errorf("%s: %d of 120 registrations passed a second later, want %d", name, n, c.later)
		}
	}
}

// What is registered again begins with the health that its attributes name, whatever
// it was before.
func TestRegisteringAgainOverwritesTheHealth(t *testing.T) {
	b := newBench(t, nil)
	svc := b.service(b.private("shop.local"), "api")
	health := func() sdtypes.HealthStatus {
		b.pass(5 * time.Second)
		return must(b.GetInstancesHealthStatus(ctx, &awssd.GetInstancesHealthStatusInput{ServiceId: svc.Id,
			Instances: []string{"i"}}))(t).Status["i"]
	}
	for _, want := range []string{"UNHEALTHY", "HEALTHY", "UNHEALTHY"} {
		b.done(b.register(svc.Id, "i", "127.16.0.5", "AWS_INIT_HEALTH_STATUS", want))
		if h := health(); string(h) != want {
			t.Errorf("registered %s, it is %s", want, h)
		}
	}
	b.done(b.register(svc.Id, "i", "127.16.0.5"))
	if h := health(); h != "HEALTHY" {
		t.Errorf("registered without a health, it is %s", h)
	}
}

// AWS: the health filter "is ignored for services that don't have a health check
// configured".
func TestTheHealthFilterIsIgnoredWithoutHealthCheck(t *testing.T) {
	b := newBench(t, nil)
	svc := must(b.CreateService(ctx, &awssd.CreateServiceInput{Name: aws.String("api"),
		NamespaceId: b.private("shop.local"), DnsConfig: records(10, "A")}))(t).Service
	b.done(b.register(svc.Id, "i", "127.16.0.5"))
	out := must(b.DiscoverInstances(ctx, &awssd.DiscoverInstancesInput{NamespaceName: aws.String("shop.local"),
		ServiceName: aws.String("api"), HealthStatus: "UNHEALTHY"}))(t)
	if len(out.Instances) != 1 {
		t.Errorf("%d instances are found with the filter UNHEALTHY, want the one there is", len(out.Instances))
	}
}
