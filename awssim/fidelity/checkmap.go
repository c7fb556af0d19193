package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"
	sdtypes "github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"
)

func mapChecks() []checked {
	return []checked{
		{"Namespaces HTTP, DNS_PRIVATE", "", namespaces},
		{"Asynchronous calls answer an operation", "", operations},
		{"DeleteService with instances", "", registryInUse},
		{"Registering an id that is there overwrites it", "", overwritten},
		{"Attributes: what records need", "", attributes},
		{"Custom health holds 30 s", "", customHealth},
		{"The health of a new instance", "", healthOfNew},
		{"DiscoverInstances: health filter", "", discovered},
	}
}

// httpNamespaceID returns the id of the program's HTTP namespace. It creates the namespace at the
// first call.
func (s *site) namespace(c *check) string {
	if s.objects.namespace == "" {
		name := s.prefix
		s.remove("namespace "+name, func(ctx context.Context) error { return s.removeNamespace(ctx, name) })
		out, err := s.sd.CreateHttpNamespace(c.ctx, &awssd.CreateHttpNamespaceInput{Name: &name, Tags: s.mapTags()})
		c.must("create the namespace", err)
		op := c.done(out.OperationId)
		s.objects.namespace = op.Targets["NAMESPACE"]
	}
	return s.objects.namespace
}

// waitOperation waits for the end of an operation.
func (c *check) done(id *string) (op *sdtypes.Operation) {
	c.holds("the operation ends", c.until(2*time.Minute, func() bool {
		out, err := c.site.sd.GetOperation(c.ctx, &awssd.GetOperationInput{OperationId: id})
		c.must("get the operation", err)
		op = out.Operation
		return op.Status == "SUCCESS" || op.Status == "FAIL"
	}), op)
	if op.Status != "SUCCESS" {
		c.must("wait for the operation", errors.New(aws.ToString(op.ErrorCode)+": "+aws.ToString(op.ErrorMessage)))
	}
	return op
}

// createRegistry creates a service in the program's namespace and returns its id.
func (s *site) registry(c *check, name string, custom bool) string {
	in := &awssd.CreateServiceInput{Name: &name, NamespaceId: ptr(s.namespace(c)), Tags: s.mapTags()}
	if custom {
		in.HealthCheckCustomConfig = &sdtypes.HealthCheckCustomConfig{FailureThreshold: aws.Int32(1)}
	}
	out, err := s.sd.CreateService(c.ctx, in)
	c.must("create the service "+name, err)
	return aws.ToString(out.Service.Id)
}

func (c *check) enrol(service, id string, more map[string]string) *string {
	a := map[string]string{"AWS_INSTANCE_IPV4": "10.254.254.254"}
	for k, v := range more {
		a[k] = v
	}
	out, err := c.site.sd.RegisterInstance(c.ctx, &awssd.RegisterInstanceInput{ServiceId: &service, InstanceId: &id, Attributes: a})
	c.must("register the instance "+id, err)
	return out.OperationId
}

func namespaces(c *check) {
	c.site.namespace(c)
	_, err := c.site.sd.CreateHttpNamespace(c.ctx, &awssd.CreateHttpNamespaceInput{Name: &c.site.prefix})
	var exists *sdtypes.NamespaceAlreadyExists
	if !errors.As(err, &exists) {
		c.refused("a namespace of the same name", err, "NamespaceAlreadyExists")
		return
	}
	c.same("the id in NamespaceAlreadyExists", aws.ToString(exists.NamespaceId), c.site.namespace(c))
}

func operations(c *check) {
	id := c.site.registry(c, "operation", true)
	op := c.enrol(id, "i", nil)
	out, err := c.site.sd.GetOperation(c.ctx, &awssd.GetOperationInput{OperationId: op})
	c.must("get the operation", err)
	c.holds("it begins SUBMITTED or PENDING", out.Operation.Status == "SUBMITTED" || out.Operation.Status == "PENDING", out.Operation.Status)
	c.same("the targets of its end", c.done(op).Targets["INSTANCE"], "i")
	_, err = c.site.sd.DeregisterInstance(c.ctx, &awssd.DeregisterInstanceInput{ServiceId: &id, InstanceId: ptr("none")})
	c.refused("deregister an instance that does not exist", err, "InstanceNotFound")
}

func registryInUse(c *check) {
	id := c.site.registry(c, "in-use", true)
	c.done(c.enrol(id, "i", nil))
	_, err := c.site.sd.DeleteService(c.ctx, &awssd.DeleteServiceInput{Id: &id})
	c.refused("delete a service with an instance", err, "ResourceInUse")
	if err != nil {
		c.holds("in these words", strings.Contains(err.Error(), "Service contains registered instances; delete the instances before deleting the service"), err)
	}
}

func overwritten(c *check) {
	id := c.site.registry(c, "overwritten", true)
	c.done(c.enrol(id, "i", map[string]string{"version": "v1"}))
	c.done(c.enrol(id, "i", nil))
	c.holds("one instance is left, without the former attribute", c.until(time.Minute, func() bool {
		out, err := c.site.sd.ListInstances(c.ctx, &awssd.ListInstancesInput{ServiceId: &id})
		c.must("list instances", err)
		return len(out.Instances) == 1 && out.Instances[0].Attributes["version"] == ""
	}), "two, or the former attribute")
}

func attributes(c *check) {
	id := c.site.registry(c, "attributes", true)
	_, err := c.site.sd.RegisterInstance(c.ctx, &awssd.RegisterInstanceInput{ServiceId: &id, InstanceId: ptr("i"), Attributes: map[string]string{"AWS_INSTANCE_IPV4": "10.254.254.254", "AWS_MINE": "x"}})
	c.refused("an attribute that begins with AWS_", err, "InvalidInput")
	_, err = c.site.sd.RegisterInstance(c.ctx, &awssd.RegisterInstanceInput{ServiceId: &id, InstanceId: ptr("i"), Attributes: map[string]string{"AWS_INSTANCE_IPV4": "not an address"}})
	c.refused("an address that is none", err, "InvalidInput")
}

func (c *check) health(service, id string) string {
	out, err := c.site.sd.GetInstancesHealthStatus(c.ctx, &awssd.GetInstancesHealthStatusInput{ServiceId: &service, Instances: []string{id}})
	c.must("get the health of the instance", err)
	return string(out.Status[id])
}

func customHealth(c *check) {
	id := c.site.registry(c, "custom", true)
	c.done(c.enrol(id, "i", map[string]string{"AWS_INIT_HEALTH_STATUS": "UNHEALTHY"}))
	c.holds("it begins UNHEALTHY", c.until(time.Minute, func() bool { return c.health(id, "i") == "UNHEALTHY" }), c.health(id, "i"))
	_, err := c.site.sd.UpdateInstanceCustomHealthStatus(c.ctx, &awssd.UpdateInstanceCustomHealthStatusInput{ServiceId: &id, InstanceId: ptr("i"), Status: "HEALTHY"})
	c.must("tell its health", err)
	c.holds("it becomes HEALTHY within a minute", c.until(time.Minute, func() bool { return c.health(id, "i") == "HEALTHY" }), c.health(id, "i"))
	none := c.site.registry(c, "without-health", false)
	c.done(c.enrol(none, "i", nil))
	_, err = c.site.sd.UpdateInstanceCustomHealthStatus(c.ctx, &awssd.UpdateInstanceCustomHealthStatusInput{ServiceId: &none, InstanceId: ptr("i"), Status: "HEALTHY"})
	c.refused("health of an instance whose service has no custom check", err, "CustomHealthNotFound")
}

func healthOfNew(c *check) {
	id := c.site.registry(c, "new", true)
	c.done(c.enrol(id, "i", nil))
	c.holds("the health of a new instance is there within ten seconds", c.until(10*time.Second, func() bool { return c.health(id, "i") == "HEALTHY" }), c.health(id, "i"))
}

func discovered(c *check) {
	id := c.site.registry(c, "discovered", true)
	c.done(c.enrol(id, "sick", map[string]string{"AWS_INIT_HEALTH_STATUS": "UNHEALTHY", "v": "1"}))
	c.done(c.enrol(id, "well", map[string]string{"v": "2"}))
	find := func(edit func(*awssd.DiscoverInstancesInput)) (n int) {
		in := &awssd.DiscoverInstancesInput{NamespaceName: &c.site.prefix, ServiceName: ptr("discovered")}
		edit(in)
		out, err := c.site.sd.DiscoverInstances(c.ctx, in)
		c.must("discover instances", err)
		return len(out.Instances)
	}
	c.until(20*time.Second, func() bool { return find(func(*awssd.DiscoverInstancesInput) {}) == 2 })
	c.same("instances with the filter HEALTHY", find(func(in *awssd.DiscoverInstancesInput) { in.HealthStatus = "HEALTHY" }), 1)
	c.same("instances with the filter UNHEALTHY", find(func(in *awssd.DiscoverInstancesInput) { in.HealthStatus = "UNHEALTHY" }), 1)
	c.same("instances with a query parameter", find(func(in *awssd.DiscoverInstancesInput) { in.QueryParameters = map[string]string{"v": "2"} }), 1)
}
