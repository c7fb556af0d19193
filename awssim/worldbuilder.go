package awssim

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice/awssim/ec2"
	"github.com/sluice-ecs/sluice/awssim/elbv2"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// worldBuilder creates the resources of a file by calling the methods of the APIs.
type worldBuilder struct {
	*generation
	file      *worldFile
	ctx       context.Context
	vpc       string
	subnets   []string
	groupARNs map[string]string // name -> ARN
	// listenerARNs are by "<load balancer>:<port>".
	listenerARNs map[string]string
	registryARNs map[string]string // registry -> ARN
	at           string            // path in the file of what is created now
	later        []func() error    // what is done when the world is settled
}

// send calls an operation with an input that its model allows.
func send[In, Out any](ctx context.Context, l *worldBuilder, call func(context.Context, *In) (*Out, error),
	in *In) (*Out, error) {
	if err := l.server.CheckInput(in); err != nil {
		return nil, err
	}
	return call(ctx, in)
}

func (l *worldBuilder) buildAll() error {
	for _, step := range []func() error{l.reserveIDs, l.pinSubnets, l.addSecurityGroups, l.createLogGroups,
		l.addAlarms, l.createClusters, l.addCapacity,
		l.createTargetGroups, l.createLoadBalancers, l.createNamespaces, l.addRepositories, l.createServices, l.addFunctions,
		l.createApplications, l.createScalableTargets, l.addReadable} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// withPath adds the place in the file to an API's error.
func withPath(path string, err error) error {
	if err == nil {
		return nil
	}
	return &pathError{path, err}
}

// reserveIDs reserves the IDs that the file gives to resources of load balancers and of Cloud Map.
func (l *worldBuilder) reserveIDs() error {
	return l.world.Do(world.KeyOf(l.ctx), func(tx *world.Tx) error {
		reserve := func(id string) { tx.ReserveID(id[strings.LastIndexAny(id, "/-")+1:]) }
		for _, g := range l.file.TargetGroups {
			reserve(g.ARN)
		}
		for _, b := range l.file.LoadBalancers {
			reserve(b.ARN)
			for _, at := range b.Listeners {
				reserve(at.ARN)
				for _, r := range at.Rules {
					reserve(r.ARN)
				}
			}
		}
		for _, n := range l.file.Namespaces {
			reserve(n.ID)
			for _, r := range n.Services {
				reserve(r.ID)
			}
		}
		return nil
	})
}

// pinSubnets gives the default network's subnets their pinned ids. No resource refers to them yet.
// Further ids become further subnets of that network, in the same zones.
func (l *worldBuilder) pinSubnets() error {
	return l.world.Do(world.KeyOf(l.ctx), func(tx *world.Tx) error {
		all := tx.Subnets.Values()
		slices.SortFunc(all, func(a, b *world.Subnet) int { return cmp.Compare(a.Zone, b.Zone) })
		for i, n := range all {
			tx.Subnets.Delete(n.ID)
			if i < len(l.file.Subnets) {
				n.ID = l.file.Subnets[i]
			}
		}
		for _, n := range all {
			tx.Subnets.Put(n.ID, n)
			l.vpc, l.subnets = n.VPC, append(l.subnets, n.ID)
		}
		for i := len(all); i < len(l.file.Subnets); i++ {
			like := all[i%len(all)]
			tx.Subnets.Put(l.file.Subnets[i], &world.Subnet{ID: l.file.Subnets[i], VPC: like.VPC, Zone: like.Zone,
				CIDR: nthRange(all[0].CIDR, i)})
		}
		return nil
	})
}

// nthRange returns the range of the n-th subnet of a network whose first subnet has the given range.
func nthRange(first netip.Prefix, n int) netip.Prefix {
	at := binary.BigEndian.Uint32(first.Addr().AsSlice()) + uint32(n)<<(32-first.Bits())
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], at)
	return netip.PrefixFrom(netip.AddrFrom4(b), first.Bits())
}

// createLogGroups creates log groups of CloudWatch Logs, which containers need to start.
func (l *worldBuilder) createLogGroups() error {
	return l.world.Do(world.KeyOf(l.ctx), func(tx *world.Tx) error {
		for _, name := range l.file.LogGroups {
			tx.AddLogGroup(name)
		}
		return nil
	})
}

// addSecurityGroups adds security groups of the default network.
func (l *worldBuilder) addSecurityGroups() error {
	for i, id := range l.file.Groups {
		if err := ec2.AddSecurityGroup(l.ctx, l.world, id); err != nil {
			return withPath(fmt.Sprintf("securityGroups[%d]", i), err)
		}
	}
	return nil
}

// addAlarms adds alarms of CloudWatch in state OK.
func (l *worldBuilder) addAlarms() error {
	return l.world.Do(world.KeyOf(l.ctx), func(tx *world.Tx) error {
		for _, name := range l.file.Alarms {
			tx.AddAlarm(&world.Alarm{Name: name, State: world.AlarmOK})
		}
		return nil
	})
}

func (l *worldBuilder) createClusters() error {
	for i, name := range l.file.Clusters {
		_, err := send(l.ctx, l, l.ecs.CreateCluster, &awsecs.CreateClusterInput{ClusterName: aws.String(name)})
		if err != nil {
			return withPath(fmt.Sprintf("clusters[%d]", i), err)
		}
	}
	return nil
}

func (l *worldBuilder) createTargetGroups() error {
	for i, g := range l.file.TargetGroups {
		if err := l.createTargetGroup(g); err != nil {
			return withPath(fmt.Sprintf("targetGroups[%d]", i), err)
		}
	}
	return nil
}

func (l *worldBuilder) createTargetGroup(g groupFile) error {
	ctx, err := l.pinARN(g.ARN, "elasticloadbalancing", "targetgroup/"+g.Name+"/")
	if err != nil {
		return err
	}
	h := g.HealthCheck
	in := &awselb.CreateTargetGroupInput{
		Name: aws.String(g.Name), Protocol: cmp.Or(elbtypes.ProtocolEnum(g.Protocol), elbtypes.ProtocolEnumHttp),
		Port: aws.Int32(cmp.Or(g.Port, 80)), VpcId: aws.String(l.vpc),
		TargetType:          cmp.Or(elbtypes.TargetTypeEnum(g.Type), elbtypes.TargetTypeEnumIp),
		HealthCheckProtocol: elbtypes.ProtocolEnum(h.Protocol), HealthCheckPath: optionalText(h.Path),
		HealthCheckIntervalSeconds: givenSeconds(h.Interval),
		HealthCheckTimeoutSeconds:  givenSeconds(h.Timeout), HealthyThresholdCount: optionalCount(h.Healthy),
		UnhealthyThresholdCount: optionalCount(h.Unhealthy),
	}
	if h.Matcher != "" {
		in.Matcher = &elbtypes.Matcher{HttpCode: aws.String(h.Matcher)}
	}
	if err := g.AWS.fillRequest(in); err != nil {
		return err
	}
	out, err := send(ctx, l, l.elb.CreateTargetGroup, in)
	if err != nil {
		return err
	}
	arn := out.TargetGroups[0].TargetGroupArn
	l.groupARNs[g.Name] = *arn
	var set []elbtypes.TargetGroupAttribute
	if d := g.DeregistrationDelay; d != nil {
		set = append(set, groupAttribute("deregistration_delay.timeout_seconds", strconv.Itoa(int(d.Seconds()))))
	}
	for _, k := range slices.Sorted(maps.Keys(g.Attributes)) {
		set = append(set, groupAttribute(k, g.Attributes[k]))
	}
	if len(set) == 0 {
		return nil
	}
	_, err = send(l.ctx, l, l.elb.ModifyTargetGroupAttributes, &awselb.ModifyTargetGroupAttributesInput{
		TargetGroupArn: arn, Attributes: set})
	return err
}

func groupAttribute(key, value string) elbtypes.TargetGroupAttribute {
	return elbtypes.TargetGroupAttribute{Key: aws.String(key), Value: aws.String(value)}
}

func (l *worldBuilder) createLoadBalancers() error {
	for i, lb := range l.file.LoadBalancers {
		at := fmt.Sprintf("loadBalancers[%d]", i)
		ctx, err := l.pinARN(lb.ARN, "elasticloadbalancing", "loadbalancer/"+lb.arnSegment()+"/"+lb.Name+"/")
		if err != nil {
			return withPath(at, err)
		}
		out, err := send(ctx, l, l.elb.CreateLoadBalancer, &awselb.CreateLoadBalancerInput{Name: aws.String(lb.Name),
			Type: elbtypes.LoadBalancerTypeEnum(lb.Type), Subnets: l.subnets})
		if err != nil {
			return withPath(at, err)
		}
		for j, ls := range lb.Listeners {
			arn, err := l.createListener(fmt.Sprintf("%s.listeners[%d]", at, j), *out.LoadBalancers[0].LoadBalancerArn,
				lb, ls)
			if err != nil {
				return err
			}
			l.listenerARNs[listenerName(lb.Name, ls.Port)] = arn
		}
	}
	return nil
}

// simulatedCertificate is the certificate of TLS listeners; nothing reads it.
const simulatedCertificate = "arn:aws:acm:us-east-1:123456789012:certificate/00000000-0000-0000-0000-000000000000"

// arnSegment returns the type of the load balancer in ARNs.
func (lb balancerFile) arnSegment() string {
	if lb.Type == "network" {
		return "net"
	}
	return "app"
}

// protocolOf returns the protocol of a listener, or the default of the load balancer.
func (lb balancerFile) protocolOf(l listenerFile) elbtypes.ProtocolEnum {
	if lb.Type == "network" {
		return cmp.Or(elbtypes.ProtocolEnum(l.Protocol), elbtypes.ProtocolEnumTcp)
	}
	return elbtypes.ProtocolEnumHttp
}

func (l *worldBuilder) createListener(at, balancer string, lb balancerFile, ls listenerFile) (arn string, err error) {
	ctx, err := l.pinARN(ls.ARN, "elasticloadbalancing", "listener/"+lb.arnSegment()+"/")
	if err != nil {
		return "", withPath(at, err)
	}
	in := &awselb.CreateListenerInput{LoadBalancerArn: aws.String(balancer), Port: aws.Int32(ls.Port),
		Protocol: lb.protocolOf(ls), DefaultActions: l.ruleActions(ls.Action)}
	if in.Protocol == elbtypes.ProtocolEnumTls {
		in.Certificates = []elbtypes.Certificate{{CertificateArn: aws.String(simulatedCertificate)}}
	}
	if err := ls.AWS.fillRequest(in); err != nil {
		return "", withPath(at, err)
	}
	out, err := send(ctx, l, l.elb.CreateListener, in)
	if err != nil {
		return "", withPath(at, err)
	}
	arn = *out.Listeners[0].ListenerArn
	for k, r := range ls.Rules {
		if err := l.createRule(arn, r); err != nil {
			return "", withPath(fmt.Sprintf("%s.rules[%d]", at, k), err)
		}
	}
	return arn, nil
}

func (l *worldBuilder) createRule(listener string, r ruleFile) error {
	ctx, err := l.pinARN(r.ARN, "elasticloadbalancing", "listener-rule/app/")
	if err != nil {
		return err
	}
	in := &awselb.CreateRuleInput{ListenerArn: aws.String(listener), Priority: aws.Int32(r.Priority),
		Conditions: r.ruleConditions(), Actions: l.ruleActions(r.Action)}
	if err := r.AWS.fillRequest(in); err != nil {
		return err
	}
	_, err = send(ctx, l, l.elb.CreateRule, in)
	return err
}

func (r ruleFile) ruleConditions() (all []elbtypes.RuleCondition) {
	if len(r.Path) > 0 {
		all = append(all, elbtypes.RuleCondition{Field: aws.String("path-pattern"),
			PathPatternConfig: &elbtypes.PathPatternConditionConfig{Values: r.Path}})
	}
	if len(r.Host) > 0 {
		all = append(all, elbtypes.RuleCondition{Field: aws.String("host-header"),
			HostHeaderConfig: &elbtypes.HostHeaderConditionConfig{Values: r.Host}})
	}
	if len(r.Method) > 0 {
		all = append(all, elbtypes.RuleCondition{Field: aws.String("http-request-method"),
			HttpRequestMethodConfig: &elbtypes.HttpRequestMethodConditionConfig{Values: r.Method}})
	}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		all = append(all, elbtypes.RuleCondition{Field: aws.String("http-header"),
			HttpHeaderConfig: &elbtypes.HttpHeaderConditionConfig{
				HttpHeaderName: aws.String(name), Values: []string{r.Header[name]}}})
	}
	return all
}

func (l *worldBuilder) ruleActions(a actionFile) []elbtypes.Action {
	if a.Fixed != nil {
		return []elbtypes.Action{{Type: elbtypes.ActionTypeEnumFixedResponse,
			FixedResponseConfig: &elbtypes.FixedResponseActionConfig{
				StatusCode: aws.String(strconv.Itoa(a.Fixed.Status)), ContentType: aws.String("text/plain"),
				MessageBody: aws.String(a.Fixed.Body)}}}
	}
	if len(a.Forward) == 0 {
		return nil
	}
	f := &elbtypes.ForwardActionConfig{}
	for _, share := range a.Forward {
		w, _ := parseWeight(share.Value)
		f.TargetGroups = append(f.TargetGroups, elbtypes.TargetGroupTuple{
			TargetGroupArn: aws.String(l.groupARNs[fmt.Sprint(share.Key)]), Weight: aws.Int32(w)})
	}
	if a.Stickiness != 0 {
		f.TargetGroupStickinessConfig = &elbtypes.TargetGroupStickinessConfig{Enabled: aws.Bool(true),
			DurationSeconds: optionalSeconds(a.Stickiness)}
	}
	return []elbtypes.Action{{Type: elbtypes.ActionTypeEnumForward, ForwardConfig: f}}
}

func (l *worldBuilder) createServices() error {
	for i, svc := range l.file.Services {
		l.at = fmt.Sprintf("services[%d]", i)
		if err := l.createService(svc); err != nil {
			return withPath(l.at, err)
		}
	}
	return nil
}

// taskSubnets returns the subnets in which services run their tasks: those that the file names,
// otherwise all.
func (l *worldBuilder) taskSubnets() []string {
	if len(l.file.Subnets) > 0 {
		return l.file.Subnets
	}
	return l.subnets
}

// createService creates a service with its task definition.
func (l *worldBuilder) createService(svc serviceFile) error {
	cluster := cmp.Or(svc.Cluster, l.file.Clusters[0])
	definition, err := l.registerDefinition(svc)
	if err != nil {
		return err
	}
	in := l.plainService(svc, cluster, definition)
	if svc.AWS != nil {
		if in, err = l.definedService(svc, cluster, definition); err != nil {
			return err
		}
	}
	if isExternal(in) {
		return l.createWithTaskSet(in)
	}
	return l.createRolledOut(in)
}

// controller returns the deployment controller of the file's own keys; the default is AWS's.
func (f serviceFile) controller() string { return cmp.Or(f.Controller, "ECS") }

// plainService returns the request that creates a service of the file's own keys.
func (l *worldBuilder) plainService(svc serviceFile, cluster, definition string) *awsecs.CreateServiceInput {
	in := &awsecs.CreateServiceInput{
		Cluster: aws.String(cluster), ServiceName: aws.String(svc.Name), DesiredCount: aws.Int32(svc.Count),
		DeploymentController: &ecstypes.DeploymentController{
			Type: ecstypes.DeploymentControllerType(svc.controller())},
		HealthCheckGracePeriodSeconds: optionalSeconds(svc.Grace),
		TaskDefinition:                aws.String(definition),
		LaunchType:                    l.launchType(svc, cluster),
		NetworkConfiguration:          l.taskNetwork(svc),
		DeploymentConfiguration:       svc.deploymentConfiguration(), ServiceRegistries: l.serviceRegistries(svc),
	}
	if svc.TargetGroup != "" {
		in.LoadBalancers = []ecstypes.LoadBalancer{{TargetGroupArn: aws.String(l.groupARNs[svc.TargetGroup]),
			ContainerName: aws.String(svc.Name), ContainerPort: aws.Int32(cmp.Or(svc.Port, 80))}}
	}
	return in
}

// launchType returns the launch type of a service: "" if the cluster has a default strategy, which then
// applies.
func (l *worldBuilder) launchType(svc serviceFile, cluster string) ecstypes.LaunchType {
	hasDefault := slices.ContainsFunc(l.file.Capacity, func(c capacityFile) bool {
		return len(c.Strategy) > 0 && cmp.Or(c.Cluster, l.file.Clusters[0]) == cluster
	})
	if svc.LaunchType == "" && hasDefault {
		return ""
	}
	return ecstypes.LaunchType(cmp.Or(svc.LaunchType, "FARGATE"))
}

// taskNetwork returns the network configuration of a service; only those in awsvpc mode have one.
func (l *worldBuilder) taskNetwork(svc serviceFile) *ecstypes.NetworkConfiguration {
	if svc.networkMode() != ecstypes.NetworkModeAwsvpc {
		return nil
	}
	return &ecstypes.NetworkConfiguration{AwsvpcConfiguration: &ecstypes.AwsVpcConfiguration{Subnets: l.taskSubnets()}}
}

func (f serviceFile) networkMode() ecstypes.NetworkMode {
	return cmp.Or(ecstypes.NetworkMode(f.NetworkMode), ecstypes.NetworkModeAwsvpc)
}

// compatibilities returns what the task definition requires: Fargate, except for services on EC2.
func (f serviceFile) compatibilities() []ecstypes.Compatibility {
	if f.LaunchType == "EC2" {
		return []ecstypes.Compatibility{ecstypes.CompatibilityEc2}
	}
	return []ecstypes.Compatibility{ecstypes.CompatibilityFargate}
}

// registerDefinition registers the task definition of the file, or one with the service's one
// container, named after the service.
func (l *worldBuilder) registerDefinition(svc serviceFile) (arn string, err error) {
	if svc.TaskDefinition == nil {
		return l.registerRequest(l.plainDefinition(svc))
	}
	in := &awsecs.RegisterTaskDefinitionInput{Family: aws.String(cmp.Or(svc.Family, svc.Name))}
	if err := svc.TaskDefinition.fillRequest(in); err != nil {
		return "", withPath("taskDefinition", err)
	}
	arn, err = l.registerRequest(in)
	return arn, withPath("taskDefinition", err)
}

func (l *worldBuilder) registerRequest(in *awsecs.RegisterTaskDefinitionInput) (arn string, err error) {
	out, err := send(l.ctx, l, l.ecs.RegisterTaskDefinition, in)
	if err != nil {
		return "", err
	}
	return *out.TaskDefinition.TaskDefinitionArn, nil
}

func (l *worldBuilder) plainDefinition(svc serviceFile) *awsecs.RegisterTaskDefinitionInput {
	c := ecstypes.ContainerDefinition{
		Name: aws.String(svc.Name), Image: aws.String(svc.Image), Essential: aws.Bool(true),
		StopTimeout: optionalSeconds(svc.StopTimeout),
		PortMappings: []ecstypes.PortMapping{{ContainerPort: aws.Int32(cmp.Or(svc.Port, 80)),
			Protocol: ecstypes.TransportProtocolTcp}},
	}
	if svc.ContainerCheck > 0 {
		c.HealthCheck = &ecstypes.HealthCheck{Command: []string{"CMD-SHELL", "curl -f http://localhost/"},
			Interval: optionalSeconds(svc.ContainerCheck)}
	}
	for _, k := range slices.Sorted(maps.Keys(svc.Environment)) {
		c.Environment = append(c.Environment, ecstypes.KeyValuePair{Name: aws.String(k),
			Value: aws.String(svc.Environment[k])})
	}
	return &awsecs.RegisterTaskDefinitionInput{
		Family: aws.String(cmp.Or(svc.Family, svc.Name)), NetworkMode: svc.networkMode(),
		RequiresCompatibilities: svc.compatibilities(), Cpu: aws.String("256"), Memory: aws.String("512"),
		ExecutionRoleArn:     aws.String(world.KeyOf(l.ctx).GlobalARN("iam", ownExecutionRole)),
		ContainerDefinitions: []ecstypes.ContainerDefinition{c},
	}
}

// ownExecutionRole is the execution role of the services that a world's file describes.
const ownExecutionRole = "role/ecsTaskExecutionRole"

// arnParts is the number of parts of an ARN.
const arnParts = 6

// pinARN makes the next resource get the given ARN, which must be one that AWS would give.
func (l *worldBuilder) pinARN(arn, service, resource string) (context.Context, error) {
	if arn == "" {
		return l.ctx, nil
	}
	want := world.KeyOf(l.ctx).ARN(service, resource)
	if len(arn) > len(want) && arn[:len(want)] == want {
		return elbv2.PinARN(l.ctx, arn), nil
	}
	has, wants := strings.SplitN(arn, ":", arnParts), strings.SplitN(want, ":", arnParts)
	for i, part := range []string{"prefix", "partition", "service", "Region", "account"} {
		if i >= len(has) || has[i] != wants[i] {
			return nil, fmt.Errorf("the %s of %s is not %s", part, arn, wants[i])
		}
	}
	return nil, fmt.Errorf("%s must name %s…", arn, resource)
}

// optionalText, optionalCount and optionalSeconds return the SDK's optional fields; nil means not
// given.

func optionalText(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func optionalCount(n int32) *int32 {
	if n == 0 {
		return nil
	}
	return &n
}

// givenSeconds returns a time of the file in seconds, 0 included.
func givenSeconds(d *time.Duration) *int32 {
	if d == nil {
		return nil
	}
	return aws.Int32(int32(*d / time.Second))
}

func optionalSeconds(d time.Duration) *int32 { return optionalCount(int32(d / time.Second)) }

// deploymentConfiguration returns the configuration of the service's rolling deployments in the
// file.
func (f serviceFile) deploymentConfiguration() *ecstypes.DeploymentConfiguration {
	if !f.Breaker && f.MinPercent == nil && f.MaxPercent == nil {
		return nil
	}
	c := &ecstypes.DeploymentConfiguration{MinimumHealthyPercent: f.MinPercent, MaximumPercent: f.MaxPercent}
	if f.Breaker {
		c.DeploymentCircuitBreaker = &ecstypes.DeploymentCircuitBreaker{Enable: true, Rollback: true}
	}
	return c
}
