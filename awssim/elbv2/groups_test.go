package elbv2_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice/awssim/elbv2"
	"github.com/sluice-ecs/sluice/awssim/world"
)

func TestCreateTargetGroupIsIdempotent(t *testing.T) {
	b := newBench(t)
	first := b.group("web")
	if second := b.group("web"); second != first {
		t.Errorf("%s and %s", first, second)
	}
	_, err := b.CreateTargetGroup(b.ctx, &awselb.CreateTargetGroupInput{Name: aws.String("web"), Protocol: "HTTP",
		Port: aws.Int32(81), VpcId: aws.String("vpc-1"), TargetType: "ip"})
	b.refused(err, "DuplicateTargetGroupName",
		"A target group with the same name 'web' exists, but with different settings")
	out, err := b.DescribeTargetGroups(b.ctx, &awselb.DescribeTargetGroupsInput{Names: []string{"web"}})
	b.ok(err)
	g := out.TargetGroups[0]
	if *g.HealthCheckIntervalSeconds != 30 || *g.HealthCheckTimeoutSeconds != 5 || *g.HealthyThresholdCount != 5 ||
		*g.UnhealthyThresholdCount != 2 ||
		*g.Matcher.HttpCode != "200" || *g.HealthCheckPath != "/" || *g.HealthCheckPort != "traffic-port" ||
		*g.ProtocolVersion != "HTTP1" {
		t.Errorf("defaults: %+v", g)
	}
}

func TestTargetGroupRefusals(t *testing.T) {
	b := newBench(t)
	create := func(change func(*awselb.CreateTargetGroupInput)) error {
		in := &awselb.CreateTargetGroupInput{Name: aws.String("web"), Protocol: "HTTP", Port: aws.Int32(80),
			VpcId: aws.String("vpc-1"), TargetType: "ip"}
		change(in)
		_, err := b.CreateTargetGroup(b.ctx, in)
		return err
	}
	b.refused(create(func(in *awselb.CreateTargetGroupInput) { in.Name = aws.String(strings.Repeat("x", 33)) }),
		"ValidationError", "cannot be longer than '32' characters")
	b.refused(create(func(in *awselb.CreateTargetGroupInput) { in.Name = aws.String("a_b") }), "ValidationError",
		"alphanumeric characters or hyphens")
	b.refused(create(func(in *awselb.CreateTargetGroupInput) { in.VpcId = aws.String("vpc-2") }), "ValidationError",
		"The VPC ID 'vpc-2' is not found")
	b.refused(create(func(in *awselb.CreateTargetGroupInput) { in.HealthCheckIntervalSeconds = aws.Int32(4) }),
		"ValidationError", "between 5 and 300")
	b.refused(create(func(in *awselb.CreateTargetGroupInput) { in.HealthCheckTimeoutSeconds = aws.Int32(30) }),
		"ValidationError", "greater than the timeout")
	b.refused(create(func(in *awselb.CreateTargetGroupInput) {
		in.Matcher = &elbtypes.Matcher{HttpCode: aws.String("200-599")}
	}), "ValidationError", "200-499")
	web := b.group("web")
	b.listen(b.balancer("edge"), 80, to(web))
	_, err := b.DeleteTargetGroup(b.ctx, &awselb.DeleteTargetGroupInput{TargetGroupArn: &web})
	b.refused(err, "ResourceInUse", "Target group '"+web+"' is currently in use by a listener or a rule")
	_, err = b.DescribeTargetGroups(b.ctx, &awselb.DescribeTargetGroupsInput{Names: []string{"none"}})
	b.refused(err, "TargetGroupNotFound", "One or more target groups not found")
}

func TestTargetsFromRegistrationToTheEndOfTheDrain(t *testing.T) {
	b := newBench(t)
	web := b.group("web")
	good, bad := b.task("sim/web:v1"), b.task("sim/web:v2?never-healthy")
	b.register(web, good, bad)
	if got := b.health(web); got != "unused Target.NotInUse, unused Target.NotInUse" {
		t.Errorf("on no listener: %s", got)
	}
	b.listen(b.balancer("edge"), 80, to(web))
	b.pass(30 * time.Second)
	if got := b.health(web); got != "healthy, unhealthy Target.ResponseCodeMismatch" {
		t.Errorf("after two checks: %s", got)
	}
	_, err := b.ModifyTargetGroupAttributes(b.ctx, &awselb.ModifyTargetGroupAttributesInput{TargetGroupArn: &web,
		Attributes: []elbtypes.TargetGroupAttribute{{Key: aws.String("deregistration_delay.timeout_seconds"),
			Value: aws.String("20")}}})
	b.ok(err)
	_, err = b.DeregisterTargets(b.ctx, &awselb.DeregisterTargetsInput{TargetGroupArn: &web,
		Targets: []elbtypes.TargetDescription{{Id: &good}, {Id: aws.String("127.16.0.250")}}})
	b.ok(err)
	b.pass(19 * time.Second)
	if got := b.health(web); got != "draining Target.DeregistrationInProgress, unhealthy Target.ResponseCodeMismatch" {
		t.Errorf("before the end of the delay: %s", got)
	}
	b.pass(time.Second)
	if got := b.health(web, good, bad); got != "unused Target.NotRegistered, unhealthy Target.ResponseCodeMismatch" {
		t.Errorf("after the delay, asked by id: %s", got)
	}
}

func TestHealthDescription(t *testing.T) {
	b := newBench(t)
	web := b.group("web")
	b.register(web, b.task("sim/web:v2?never-healthy"))
	b.listen(b.balancer("edge"), 80, to(web))
	b.pass(time.Minute)
	out, err := b.DescribeTargetHealth(b.ctx, &awselb.DescribeTargetHealthInput{TargetGroupArn: &web})
	b.ok(err)
	d := out.TargetHealthDescriptions[0]
	if *d.TargetHealth.Description != "Health checks failed with these codes: [503]" || *d.HealthCheckPort != "80" ||
		*d.Target.AvailabilityZone != "eu-west-1a" || *d.Target.Port != 80 {
		t.Errorf("%+v %+v %+v", d, d.Target, *d.TargetHealth.Description)
	}
	_, err = b.RegisterTargets(b.ctx, &awselb.RegisterTargetsInput{TargetGroupArn: &web,
		Targets: []elbtypes.TargetDescription{{Id: aws.String("web.test")}}})
	b.refused(err, "InvalidTarget", "web.test")
}

// An address of the network has its own zone; any other private one needs a zone or all. Instances must exist.
func TestTargetsAreChecked(t *testing.T) {
	b := newBench(t)
	web, own := b.group("web"), b.task("sim/web:v1")
	out, err := b.CreateTargetGroup(b.ctx, &awselb.CreateTargetGroupInput{Name: aws.String("on"), Protocol: "HTTP",
		Port: aws.Int32(80), VpcId: aws.String("vpc-1"), TargetType: "instance"})
	b.ok(err)
	on := *out.TargetGroups[0].TargetGroupArn
	for _, c := range []struct{ group, id, zone, code, text string }{
		{web, own, "", "", ""},
		{web, own, "all", "ValidationError", "The IP address '" + own +
			"' is within the VPC, and cannot have its Availability Zone overridden to 'all' from 'eu-west-1a'"},
		{web, "10.9.9.9", "all", "", ""},
		{web, "100.64.0.9", "eu-west-1b", "", ""},
		{web, "10.9.9.9", "", "ValidationError",
			"The Availability Zone is required for IP address '10.9.9.9' because it is not in the VPC"},
		{web, "8.8.8.8", "all", "InvalidTarget", "8.8.8.8"},
		{on, own, "", "ValidationError", "Instance ID '" + own + "' is not valid"},
		{on, "i-0123456789abcdef0", "", "InvalidTarget", "The following instances do not exist: 'i-0123456789abcdef0'"},
	} {
		target := elbtypes.TargetDescription{Id: &c.id}
		if c.zone != "" {
			target.AvailabilityZone = &c.zone
		}
		_, err := b.RegisterTargets(b.ctx, &awselb.RegisterTargetsInput{TargetGroupArn: &c.group,
			Targets: []elbtypes.TargetDescription{target}})
		if c.code == "" {
			b.ok(err)
			continue
		}
		b.refused(err, c.code, c.text)
	}
}

func TestAttributes(t *testing.T) {
	b := newBench(t)
	lb, web := b.balancer("edge"), b.group("web")
	set := func(k, v string) error {
		_, err := b.ModifyTargetGroupAttributes(b.ctx, &awselb.ModifyTargetGroupAttributesInput{TargetGroupArn: &web,
			Attributes: []elbtypes.TargetGroupAttribute{{Key: &k, Value: &v}}})
		return err
	}
	b.refused(set("colour", "red"), "ValidationError", "colour")
	b.refused(set("deregistration_delay.timeout_seconds", "3601"), "ValidationError", "3601")
	b.refused(set("slow_start.duration_seconds", "10"), "ValidationError", "10")
	b.ok(set("slow_start.duration_seconds", "30"))
	b.refused(set("load_balancing.algorithm.type", "least_outstanding_requests"), "InvalidConfigurationRequest",
		"round_robin")
	out, err := b.DescribeTargetGroupAttributes(b.ctx, &awselb.DescribeTargetGroupAttributesInput{TargetGroupArn: &web})
	b.ok(err)
	i := slices.IndexFunc(out.Attributes,
		func(a elbtypes.TargetGroupAttribute) bool { return *a.Key == "slow_start.duration_seconds" })
	if *out.Attributes[i].Value != "30" {
		t.Errorf("%s", *out.Attributes[i].Value)
	}
	_, err = b.ModifyLoadBalancerAttributes(b.ctx, &awselb.ModifyLoadBalancerAttributesInput{LoadBalancerArn: &lb,
		Attributes: []elbtypes.LoadBalancerAttribute{{Key: aws.String("deletion_protection.enabled"),
			Value: aws.String("true")}}})
	b.ok(err)
	_, err = b.DeleteLoadBalancer(b.ctx, &awselb.DeleteLoadBalancerInput{LoadBalancerArn: &lb})
	b.refused(err, "OperationNotPermitted", "deletion protection")
	l := b.listen(lb, 80, to(web))
	_, err = b.ModifyListenerAttributes(b.ctx, &awselb.ModifyListenerAttributesInput{ListenerArn: &l,
		Attributes: []elbtypes.ListenerAttribute{{Key: aws.String("routing.http.response.server.enabled"),
			Value: aws.String("false")}}})
	b.ok(err)
}

func TestLoadBalancers(t *testing.T) {
	b := newBench(t)
	lb := b.balancer("edge")
	if again := b.balancer("edge"); again != lb {
		t.Error("a second call made a second load balancer")
	}
	create := func(change func(*awselb.CreateLoadBalancerInput)) error {
		in := &awselb.CreateLoadBalancerInput{Name: aws.String("edge"), Subnets: []string{"subnet-a", "subnet-b"}}
		change(in)
		_, err := b.CreateLoadBalancer(b.ctx, in)
		return err
	}
	b.refused(create(func(in *awselb.CreateLoadBalancerInput) { in.Scheme = "internal" }), "DuplicateLoadBalancerName",
		"'edge'")
	b.refused(create(func(in *awselb.CreateLoadBalancerInput) { in.Subnets = []string{"subnet-a"} }), "ValidationError",
		"two different Availability Zones")
	b.refused(create(func(in *awselb.CreateLoadBalancerInput) { in.Subnets = []string{"subnet-z"} }), "SubnetNotFound",
		"subnet-z")
	b.refused(create(func(in *awselb.CreateLoadBalancerInput) { in.CustomerOwnedIpv4Pool = aws.String("pool") }),
		"ValidationError", "not simulated")
	b.refused(create(func(in *awselb.CreateLoadBalancerInput) {
		in.Subnets, in.SubnetMappings = nil,
			[]elbtypes.SubnetMapping{{SubnetId: aws.String("subnet-a"), AllocationId: aws.String("eipalloc-1")}}
	}), "ValidationError", "not simulated")
	b.ok(create(func(in *awselb.CreateLoadBalancerInput) { in.Name, in.Type = aws.String("flow"), "network" }))
	out, err := b.DescribeLoadBalancers(b.ctx, &awselb.DescribeLoadBalancersInput{})
	b.ok(err)
	if len(out.LoadBalancers) != 2 || out.LoadBalancers[0].State.Code != "active" ||
		len(out.LoadBalancers[0].AvailabilityZones) != 2 ||
		!strings.HasSuffix(*out.LoadBalancers[0].DNSName, ".eu-west-1.elb.amazonaws.com") ||
		out.LoadBalancers[1].Type != "network" {
		t.Errorf("%+v", out.LoadBalancers)
	}
	_, err = b.DescribeLoadBalancers(b.ctx, &awselb.DescribeLoadBalancersInput{Names: []string{"none"}})
	b.refused(err, "LoadBalancerNotFound", "Load balancers '[none]' not found")
	web := b.group("web")
	b.listen(lb, 80, to(web))
	_, err = b.DeleteLoadBalancer(b.ctx, &awselb.DeleteLoadBalancerInput{LoadBalancerArn: &lb})
	b.ok(err)
	_, err = b.DeleteTargetGroup(b.ctx, &awselb.DeleteTargetGroupInput{TargetGroupArn: &web})
	b.ok(err)
}

func TestListeners(t *testing.T) {
	b := newBench(t)
	lb, web, other := b.balancer("edge"), b.group("web"), b.group("other")
	l := b.listen(lb, 80, to(web))
	if again := b.listen(lb, 80, to(web)); again != l {
		t.Error("a second call made a second listener")
	}
	_, err := b.CreateListener(b.ctx, &awselb.CreateListenerInput{LoadBalancerArn: &lb, Port: aws.Int32(80),
		Protocol: "HTTP", DefaultActions: []elbtypes.Action{to(other)}})
	b.refused(err, "DuplicateListener", "A listener already exists on this port")
	_, err = b.CreateListener(b.ctx, &awselb.CreateListenerInput{LoadBalancerArn: &lb, Port: aws.Int32(443),
		Protocol: "HTTPS", DefaultActions: []elbtypes.Action{to(other)}})
	b.refused(err, "ValidationError", "certificate")
	out, err := b.ModifyListener(b.ctx, &awselb.ModifyListenerInput{ListenerArn: &l, Port: aws.Int32(8080),
		DefaultActions: []elbtypes.Action{weighted([]string{web, other}, 3, 1)}})
	b.ok(err)
	if *out.Listeners[0].Port != 8080 || len(out.Listeners[0].DefaultActions[0].ForwardConfig.TargetGroups) != 2 {
		t.Errorf("%+v", out.Listeners[0])
	}
	if ports := b.law.Table(key, lb).Ports(); !slices.Equal(ports, []int32{8080}) {
		t.Errorf("the nodes listen on %v", ports)
	}
	groups, err := b.DescribeTargetGroups(b.ctx, &awselb.DescribeTargetGroupsInput{LoadBalancerArn: &lb})
	b.ok(err)
	if len(groups.TargetGroups) != 2 || groups.TargetGroups[0].LoadBalancerArns[0] != lb {
		t.Errorf("%+v", groups.TargetGroups)
	}
	_, err = b.DeleteListener(b.ctx, &awselb.DeleteListenerInput{ListenerArn: &l})
	b.ok(err)
	_, err = b.DescribeListeners(b.ctx, &awselb.DescribeListenersInput{ListenerArns: []string{l}})
	b.refused(err, "ListenerNotFound", "One or more listeners not found")
	_, err = b.DescribeListeners(b.ctx, &awselb.DescribeListenersInput{})
	b.refused(err, "ValidationError", "")
}

// Target groups are listed by name; a load balancer without one has none to describe.
func TestTargetGroupsAreListedByName(t *testing.T) {
	b := newBench(t)
	lb, idle := b.balancer("edge"), b.balancer("idle")
	c, a := b.group("c"), b.group("a")
	b.group("b")
	b.listen(lb, 80, to(c))
	b.listen(lb, 81, to(a))
	names := func(in *awselb.DescribeTargetGroupsInput) (all string) {
		out, err := b.DescribeTargetGroups(b.ctx, in)
		b.ok(err)
		for _, g := range out.TargetGroups {
			all += *g.TargetGroupName
		}
		return all
	}
	if got := names(&awselb.DescribeTargetGroupsInput{}); got != "abc" {
		t.Errorf("all: %s", got)
	}
	if got := names(&awselb.DescribeTargetGroupsInput{LoadBalancerArn: &lb}); got != "ac" {
		t.Errorf("of the load balancer: %s", got)
	}
	_, err := b.DescribeTargetGroups(b.ctx, &awselb.DescribeTargetGroupsInput{LoadBalancerArn: &idle})
	b.refused(err, "TargetGroupNotFound", "One or more target groups not found")
}

func TestSecurityGroups(t *testing.T) {
	b := newBench(t)
	lb, flow := b.balancer("edge"), b.network()
	set := func(lb string, ids ...string) error {
		_, err := b.SetSecurityGroups(b.ctx, &awselb.SetSecurityGroupsInput{LoadBalancerArn: &lb, SecurityGroups: ids})
		return err
	}
	b.ok(set(lb, "sg-1", "sg-2"))
	b.refused(set(lb, "web"), "ValidationError", "Security group 'web' is not valid")
	b.refused(set(flow, "sg-1"), "InvalidConfigurationRequest", "created without one")
	create := func(name, kind, id string) (string, error) {
		out, err := b.CreateLoadBalancer(b.ctx, &awselb.CreateLoadBalancerInput{Name: &name,
			Type: elbtypes.LoadBalancerTypeEnum(kind), Subnets: []string{"subnet-a", "subnet-b"},
			SecurityGroups: []string{id}})
		if err != nil {
			return "", err
		}
		return *out.LoadBalancers[0].LoadBalancerArn, nil
	}
	_, err := create("other", "application", "web")
	b.refused(err, "ValidationError", "Security group 'web' is not valid")
	filtered, err := create("filtered", "network", "sg-1")
	b.ok(err)
	b.ok(set(filtered, "sg-2"))
}

func TestIPAddressTypes(t *testing.T) {
	b := newBench(t)
	edge, flow := b.balancer("edge"), b.network()
	inside, err := b.CreateLoadBalancer(b.ctx, &awselb.CreateLoadBalancerInput{Name: aws.String("inside"),
		Scheme: "internal", Subnets: []string{"subnet-a", "subnet-b"}})
	b.ok(err)
	set := func(lb string, ip elbtypes.IpAddressType) error {
		_, err := b.SetIpAddressType(b.ctx, &awselb.SetIpAddressTypeInput{LoadBalancerArn: &lb, IpAddressType: ip})
		return err
	}
	private := elbtypes.IpAddressTypeDualstackWithoutPublicIpv4
	b.ok(set(edge, private))
	b.ok(set(*inside.LoadBalancers[0].LoadBalancerArn, "dualstack"))
	b.refused(set(*inside.LoadBalancers[0].LoadBalancerArn, private), "InvalidConfigurationRequest", "'internal'")
	b.refused(set(flow, private), "InvalidConfigurationRequest", "'network'")
	_, err = b.CreateLoadBalancer(b.ctx, &awselb.CreateLoadBalancerInput{Name: aws.String("other"), Scheme: "internal",
		IpAddressType: private, Subnets: []string{"subnet-a", "subnet-b"}})
	b.refused(err, "InvalidConfigurationRequest", "'internal'")
}

// An HTTPS listener can rename the headers that it adds to requests.
func TestRequestHeaderNames(t *testing.T) {
	b := newBench(t)
	lb, web := b.balancer("edge"), b.group("web")
	key := "routing.http.request.x_amzn_mtls_clientcert_serial_number.header_name"
	names := func(listener string) (found string) {
		out, err := b.DescribeListenerAttributes(b.ctx, &awselb.DescribeListenerAttributesInput{ListenerArn: &listener})
		b.ok(err)
		for _, a := range out.Attributes {
			if *a.Key == key {
				found += *a.Value
			}
		}
		return found
	}
	secure, plain := b.secured(lb, 443, "HTTPS", web), b.listen(lb, 80, to(web))
	if names(secure) != "X-Amzn-Mtls-Clientcert-Serial-Number" || names(plain) != "" {
		t.Errorf("at first %s and %s", names(secure), names(plain))
	}
	rename := func(listener string) error {
		_, err := b.ModifyListenerAttributes(b.ctx, &awselb.ModifyListenerAttributesInput{ListenerArn: &listener,
			Attributes: []elbtypes.ListenerAttribute{{Key: &key, Value: aws.String("X-Serial")}}})
		return err
	}
	b.ok(rename(secure))
	if names(secure) != "X-Serial" {
		t.Errorf("renamed: %s", names(secure))
	}
	b.refused(rename(plain), "ValidationError", "is not recognized")
}

func TestTags(t *testing.T) {
	b := newBench(t)
	lb, web := b.balancer("edge"), b.group("web")
	l := b.listen(lb, 80, to(web))
	all := []string{lb, web, l, b.rule(l, 1, to(web))}
	_, err := b.AddTags(b.ctx, &awselb.AddTagsInput{ResourceArns: all,
		Tags: []elbtypes.Tag{{Key: aws.String("a"), Value: aws.String("1")}, {Key: aws.String("b")}}})
	b.ok(err)
	_, err = b.RemoveTags(b.ctx, &awselb.RemoveTagsInput{ResourceArns: all, TagKeys: []string{"b"}})
	b.ok(err)
	out, err := b.DescribeTags(b.ctx, &awselb.DescribeTagsInput{ResourceArns: all})
	b.ok(err)
	for i, d := range out.TagDescriptions {
		if *d.ResourceArn != all[i] || len(d.Tags) != 1 || *d.Tags[0].Key != "a" || *d.Tags[0].Value != "1" {
			t.Errorf("%+v", d)
		}
	}
	_, err = b.AddTags(b.ctx, &awselb.AddTagsInput{ResourceArns: all[:1], Tags: []elbtypes.Tag{{Key: aws.String("c")},
		{Key: aws.String("c")}}})
	b.refused(err, "DuplicateTagKeys", "c")
}

func TestLimitsAndPolicies(t *testing.T) {
	b := newBench(t)
	limits, err := b.DescribeAccountLimits(b.ctx, &awselb.DescribeAccountLimitsInput{})
	b.ok(err)
	if !slices.ContainsFunc(limits.Limits, func(l elbtypes.Limit) bool {
		return *l.Name == "target-groups" &&
			*l.Max == "3000"
	}) {
		t.Errorf("%+v", limits.Limits)
	}
	policies, err := b.DescribeSSLPolicies(b.ctx,
		&awselb.DescribeSSLPoliciesInput{Names: []string{"ELBSecurityPolicy-2016-08", "ELBSecurityPolicy-2016-08"}})
	b.ok(err)
	if len(policies.SslPolicies) != 1 {
		t.Errorf("%+v", policies.SslPolicies)
	}
}

func TestPinnedARN(t *testing.T) {
	b := newBench(t)
	arn := "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/web/0123456789abcdef"
	ctx := elbv2.PinARN(world.WithKey(b.ctx, key), arn)
	out, err := elbv2.New(b.w, b.law).CreateTargetGroup(ctx, &awselb.CreateTargetGroupInput{Name: aws.String("web"),
		Protocol: "HTTP",
		Port:     aws.Int32(80), VpcId: aws.String("vpc-1")})
	b.ok(err)
	if *out.TargetGroups[0].TargetGroupArn != arn {
		t.Errorf("%s", *out.TargetGroups[0].TargetGroupArn)
	}
}

// The data plane says where sockets really are; the DNS name is what curl takes.
func TestDNSNameFollowsTheSockets(t *testing.T) {
	b := newBench(t)
	b.w.SetSink(func(world.Effect) {})
	lb, web := b.balancer("edge"), b.group("web")
	b.listen(lb, 80, to(web))
	name := func() string {
		out, err := b.DescribeLoadBalancers(b.ctx, &awselb.DescribeLoadBalancersInput{LoadBalancerArns: []string{lb}})
		b.ok(err)
		return *out.LoadBalancers[0].DNSName
	}
	if name() != "127.16.240.1" {
		t.Errorf("at first %s", name())
	}
	bound := func(addr string) {
		b.ok(b.w.Do(key, func(tx *world.Tx) error { b.law.SetBound(tx, lb, 80, addr); return nil }))
	}
	if bound("127.16.240.1:80"); name() != "127.16.240.1" {
		t.Errorf("bound at its own place: %s", name())
	}
	if bound("127.0.0.1:40080"); name() != "127.0.0.1:40080" {
		t.Errorf("bound elsewhere: %s", name())
	}
}
