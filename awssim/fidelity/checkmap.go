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

func mapChecks() []rowCheck {
	return []rowCheck{
		{"Namespaces HTTP, DNS_PRIVATE", "", checkNamespaces},
		{"Asynchronous calls answer an operation", "", checkOperations},
		{"DeleteService with instances", "", checkRegistryInUse},
		{"Registering an id that is there overwrites it", "", checkOverwrittenInstance},
		{"Attributes: what records need", "", checkAttributes},
		{"Custom health holds 30 s", "", checkCustomHealth},
		{"The health of a new instance", "", checkNewHealth},
		{"DiscoverInstances: health filter", "", checkDiscoverFilters},
	}
}

// httpNamespaceID returns the id of the program's HTTP namespace. It creates the namespace at the
// first call.
func (s *site) httpNamespaceID(c *rowRun) string {
	if s.objects.namespace == "" {
		name := s.prefix
		s.removeLater("namespace "+name, func(ctx context.Context) error { return s.removeNamespace(ctx, name) })
		out, err := s.sd.CreateHttpNamespace(c.ctx, &awssd.CreateHttpNamespaceInput{Name: &name, Tags: s.mapTags()})
		c.requireCall("create the namespace", err)
		op := c.waitOperation(out.OperationId)
		s.objects.namespace = op.Targets["NAMESPACE"]
	}
	return s.objects.namespace
}

// waitOperation waits for the end of an operation.
func (c *rowRun) waitOperation(id *string) (op *sdtypes.Operation) {
	c.expectTrue("the operation ends", c.waitUntil(2*time.Minute, func() bool {
		out, err := c.site.sd.GetOperation(c.ctx, &awssd.GetOperationInput{OperationId: id})
		c.requireCall("get the operation", err)
		op = out.Operation
		return op.Status == "SUCCESS" || op.Status == "FAIL"
	}), op)
	if op.Status != "SUCCESS" {
		c.requireCall("wait for the operation",
			errors.New(aws.ToString(op.ErrorCode)+": "+aws.ToString(op.ErrorMessage)))
	}
	return op
}

// createRegistry creates a service in the program's namespace and returns its id.
func (s *site) createRegistry(c *rowRun, name string, custom bool) string {
	in := &awssd.CreateServiceInput{Name: &name, NamespaceId: ptr(s.httpNamespaceID(c)), Tags: s.mapTags()}
	if custom {
		in.HealthCheckCustomConfig = &sdtypes.HealthCheckCustomConfig{FailureThreshold: aws.Int32(1)}
	}
	out, err := s.sd.CreateService(c.ctx, in)
	c.requireCall("create the service "+name, err)
	return aws.ToString(out.Service.Id)
}

func (c *rowRun) registerInstance(service, id string, more map[string]string) *string {
	a := map[string]string{"AWS_INSTANCE_IPV4": "10.254.254.254"}
	for k, v := range more {
		a[k] = v
	}
	out, err := c.site.sd.RegisterInstance(c.ctx, &awssd.RegisterInstanceInput{ServiceId: &service, InstanceId: &id,
		Attributes: a})
	c.requireCall("register the instance "+id, err)
	return out.OperationId
}

func checkNamespaces(c *rowRun) {
	c.site.httpNamespaceID(c)
	_, err := c.site.sd.CreateHttpNamespace(c.ctx, &awssd.CreateHttpNamespaceInput{Name: &c.site.prefix})
	var exists *sdtypes.NamespaceAlreadyExists
	if !errors.As(err, &exists) {
		c.expectRefusal("a namespace of the same name", err, "NamespaceAlreadyExists")
		return
	}
	c.expectSame("the id in NamespaceAlreadyExists", aws.ToString(exists.NamespaceId), c.site.httpNamespaceID(c))
}

func checkOperations(c *rowRun) {
	id := c.site.createRegistry(c, "operation", true)
	op := c.registerInstance(id, "i", nil)
	out, err := c.site.sd.GetOperation(c.ctx, &awssd.GetOperationInput{OperationId: op})
	c.requireCall("get the operation", err)
	c.expectTrue("it begins SUBMITTED or PENDING", out.Operation.Status == "SUBMITTED" ||
		out.Operation.Status == "PENDING", out.Operation.Status)
	c.expectSame("the targets of its end", c.waitOperation(op).Targets["INSTANCE"], "i")
	_, err = c.site.sd.DeregisterInstance(c.ctx, &awssd.DeregisterInstanceInput{ServiceId: &id,
		InstanceId: ptr("none")})
	c.expectRefusal("deregister an instance that does not exist", err, "InstanceNotFound")
}

func checkRegistryInUse(c *rowRun) {
	id := c.site.createRegistry(c, "in-use", true)
	c.waitOperation(c.registerInstance(id, "i", nil))
	_, err := c.site.sd.DeleteService(c.ctx, &awssd.DeleteServiceInput{Id: &id})
	c.expectRefusal("delete a service with an instance", err, "ResourceInUse")
	if err != nil {
		c.expectTrue("in these words",
			strings.Contains(err.Error(), "Service contains registered instances; delete the instances before "+
				"deleting the service"), err)
	}
}

func checkOverwrittenInstance(c *rowRun) {
	id := c.site.createRegistry(c, "overwritten", true)
	c.waitOperation(c.registerInstance(id, "i", map[string]string{"version": "v1"}))
	c.waitOperation(c.registerInstance(id, "i", nil))
	c.expectTrue("one instance remains, without the previous attribute", c.waitUntil(time.Minute, func() bool {
		out, err := c.site.sd.ListInstances(c.ctx, &awssd.ListInstancesInput{ServiceId: &id})
		c.requireCall("list instances", err)
		return len(out.Instances) == 1 && out.Instances[0].Attributes["version"] == ""
	}), "two, or the previous attribute")
}

func checkAttributes(c *rowRun) {
	id := c.site.createRegistry(c, "attributes", true)
	_, err := c.site.sd.RegisterInstance(c.ctx, &awssd.RegisterInstanceInput{ServiceId: &id, InstanceId: ptr("i"),
		Attributes: map[string]string{"AWS_INSTANCE_IPV4": "10.254.254.254", "AWS_MINE": "x"}})
	c.expectRefusal("an attribute that begins with AWS_", err, "InvalidInput")
	_, err = c.site.sd.RegisterInstance(c.ctx, &awssd.RegisterInstanceInput{ServiceId: &id, InstanceId: ptr("i"),
		Attributes: map[string]string{"AWS_INSTANCE_IPV4": "not an address"}})
	c.expectRefusal("an address that is none", err, "InvalidInput")
}

func (c *rowRun) instanceHealth(service, id string) string {
	out, err := c.site.sd.GetInstancesHealthStatus(c.ctx, &awssd.GetInstancesHealthStatusInput{ServiceId: &service,
		Instances: []string{id}})
	c.requireCall("get the health of the instance", err)
	return string(out.Status[id])
}

func checkCustomHealth(c *rowRun) {
	id := c.site.createRegistry(c, "custom", true)
	c.waitOperation(c.registerInstance(id, "i", map[string]string{"AWS_INIT_HEALTH_STATUS": "UNHEALTHY"}))
	c.expectTrue("it begins UNHEALTHY",
		c.waitUntil(time.Minute, func() bool { return c.instanceHealth(id, "i") == "UNHEALTHY" }),
		c.instanceHealth(id, "i"))
	_, err := c.site.sd.UpdateInstanceCustomHealthStatus(c.ctx,
		&awssd.UpdateInstanceCustomHealthStatusInput{ServiceId: &id, InstanceId: ptr("i"), Status: "HEALTHY"})
	c.requireCall("set its health", err)
	c.expectTrue("it becomes HEALTHY within a minute",
		c.waitUntil(time.Minute, func() bool { return c.instanceHealth(id, "i") == "HEALTHY" }),
		c.instanceHealth(id, "i"))
	none := c.site.createRegistry(c, "without-health", false)
	c.waitOperation(c.registerInstance(none, "i", nil))
	_, err = c.site.sd.UpdateInstanceCustomHealthStatus(c.ctx,
		&awssd.UpdateInstanceCustomHealthStatusInput{ServiceId: &none, InstanceId: ptr("i"), Status: "HEALTHY"})
	c.expectRefusal("health of an instance whose service has no custom check", err, "CustomHealthNotFound")
}

func checkNewHealth(c *rowRun) {
	id := c.site.createRegistry(c, "new", true)
	c.waitOperation(c.registerInstance(id, "i", nil))
	c.expectTrue("the health of a new instance is there within ten seconds",
		c.waitUntil(10*time.Second, func() bool { return c.instanceHealth(id, "i") == "HEALTHY" }),
		c.instanceHealth(id, "i"))
}

func checkDiscoverFilters(c *rowRun) {
	id := c.site.createRegistry(c, "discovered", true)
	c.waitOperation(c.registerInstance(id, "unhealthy",
		map[string]string{"AWS_INIT_HEALTH_STATUS": "UNHEALTHY", "v": "1"}))
	c.waitOperation(c.registerInstance(id, "healthy", map[string]string{"v": "2"}))
	find := func(edit func(*awssd.DiscoverInstancesInput)) (n int) {
		in := &awssd.DiscoverInstancesInput{NamespaceName: &c.site.prefix, ServiceName: ptr("discovered")}
		edit(in)
		out, err := c.site.sd.DiscoverInstances(c.ctx, in)
		c.requireCall("discover instances", err)
		return len(out.Instances)
	}
	c.waitUntil(20*time.Second, func() bool { return find(func(*awssd.DiscoverInstancesInput) {}) == 2 })
	c.expectSame("instances with the filter HEALTHY",
		find(func(in *awssd.DiscoverInstancesInput) { in.HealthStatus = "HEALTHY" }), 1)
	c.expectSame("instances with the filter UNHEALTHY",
		find(func(in *awssd.DiscoverInstancesInput) { in.HealthStatus = "UNHEALTHY" }), 1)
	c.expectSame("instances with a query parameter",
		find(func(in *awssd.DiscoverInstancesInput) { in.QueryParameters = map[string]string{"v": "2"} }), 1)
}
