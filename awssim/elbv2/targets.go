package elbv2

import (
	"context"
	"net/netip"
	"strconv"
	"strings"

	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

const maxTargets = 1000 // per group, and per load balancer

// RegisterTargets adds targets to a group. It registers draining targets again, and keeps
// registered targets unchanged.
func (s *Service) RegisterTargets(ctx context.Context, in *awselb.RegisterTargetsInput) (*awselb.RegisterTargetsOutput,
	error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awselb.RegisterTargetsOutput, error) {
		g, err := findGroup(tx, in.TargetGroupArn)
		if err != nil {
			return nil, err
		}
		if len(in.Targets) == 0 {
			return nil, validationError("At least one target must be specified")
		}
		fresh := 0
		for _, t := range in.Targets {
			if err := checkTarget(g, t); err != nil {
				return nil, err
			}
			if err := checkAddress(tx, g, t); err != nil {
				return nil, err
			}
			if g.Find(*t.Id, portOf(g, t)) == nil {
				fresh++
			}
		}
		if err := checkInstances(tx, g, in.Targets); err != nil {
			return nil, err
		}
		if len(g.Targets)+fresh > maxTargets || countTargets(tx, g.Balancer)+fresh > maxTargets {
			return nil,
				world.Refuse("TooManyTargets",
					"The maximum number of targets for the target group or its load balancer is '%d'", maxTargets)
		}
		for _, t := range in.Targets {
			zone, task := locateTarget(tx, *t.Id, portOf(g, t), val(t.AvailabilityZone))
			tx.RegisterTarget(g, *t.Id, portOf(g, t), zone, task)
		}
		return &awselb.RegisterTargetsOutput{}, nil
	})
}

// countTargets returns the number of targets of a load balancer.
func countTargets(tx *world.Tx, arn string) int {
	n := 0
	if arn == "" {
		return 0
	}
	for _, g := range tx.TargetGroups.All() {
		if g.Balancer == arn {
			n += len(g.Targets)
		}
	}
	return n
}

func portOf(g *world.TargetGroup, t elbtypes.TargetDescription) int32 {
	if t.Port != nil {
		return *t.Port
	}
	return g.Port
}

// checkTarget rejects a target that AWS rejects, in AWS's words where they are published: issues 272, 328 and 561 of
// kubernetes-sigs/aws-load-balancer-controller, and issue 6 of aws-samples/hostname-as-target-for-elastic-load-balancer.
func checkTarget(g *world.TargetGroup, t elbtypes.TargetDescription) error {
	id := val(t.Id)
	_, err := netip.ParseAddr(id)
	switch {
	case id == "":
		return validationError("A target ID must be specified")
	case g.TargetType == "ip" && err != nil:
		return invalidTarget("The IP address '%s' is not a valid IPv4 or IPv6 address", id)
	case g.TargetType == "instance" && !strings.HasPrefix(id, "i-"):
		return validationError("Instance ID '%s' is not valid", id)
	case g.TargetType == "lambda":
		return invalidTarget("Lambda functions as targets are not simulated: '%s'", id)
	case g.TargetType == "alb":
		return invalidTarget("Application Load Balancers as targets are not simulated: '%s'", id)
	}
	if p := portOf(g, t); p < 1 || p > 65535 {
		return validationError("Port '%d' must be between 1 and 65535", p)
	}
	return nil
}

// isShared reports whether an address is of the range that carriers use (RFC 6598).
func isShared(a netip.Addr) bool { return netip.MustParsePrefix("100.64.0.0/10").Contains(a) }

// checkAddress rejects an address whose zone does not fit: one of the network has its own zone, and any other one needs a
// zone or "all". A publicly routable address cannot be a target (API reference, TargetDescription).
func checkAddress(tx *world.Tx, g *world.TargetGroup, t elbtypes.TargetDescription) error {
	a, err := netip.ParseAddr(val(t.Id))
	vpc, known := tx.VPCs.Get(g.VPC)
	zone := val(t.AvailabilityZone)
	switch {
	case err != nil:
		return nil // an instance
	case known && vpc.CIDR.Contains(a) && zone == "all":
		own, _ := locateTarget(tx, a.String(), 0, "")
		return validationError("The IP address '%s' is within the VPC, and cannot have its Availability Zone overridden to "+
			"'all' from '%s'", a, own)
	case known && vpc.CIDR.Contains(a):
		return nil
	case !a.IsPrivate() && !isShared(a):
		return invalidTarget("The IP address '%s' is publicly routable and cannot be a target", a)
	case zone == "":
		return validationError("The Availability Zone is required for IP address '%s' because it is not in the VPC", a)
	}
	return nil
}

// checkInstances rejects instances that do not exist, and names all of them.
func checkInstances(tx *world.Tx, g *world.TargetGroup, all []elbtypes.TargetDescription) error {
	var missing []string
	for _, t := range all {
		if id := val(t.Id); g.TargetType == "instance" && tx.InstanceOf(id) == nil {
			missing = append(missing, "'"+id+"'")
		}
	}
	if len(missing) > 0 {
		return invalidTarget("The following instances do not exist: %s", strings.Join(missing, ", "))
	}
	return nil
}

func invalidTarget(format string, args ...any) error {
	return world.Refuse("InvalidTarget", format, args...)
}

// locateTarget returns the zone of a target, and the task that has the address, or the host port of
// the container instance.
func locateTarget(tx *world.Tx, id string, port int32, zone string) (string, *world.Task) {
	a, err := netip.ParseAddr(id)
	if err != nil {
		if i := tx.InstanceOf(id); i != nil {
			return i.Zone, i.PortUser(port)
		}
		return zone, nil
	}
	for _, sub := range tx.Subnets.All() {
		if sub.CIDR.Contains(a) {
			zone = sub.Zone
		}
	}
	return zone, tx.TasksByAddress[a]
}

// DeregisterTargets starts the drain of targets. It ignores targets that are not registered.
// Without a port, it drains all ports of the target.
func (s *Service) DeregisterTargets(ctx context.Context,
	in *awselb.DeregisterTargetsInput) (*awselb.DeregisterTargetsOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awselb.DeregisterTargetsOutput, error) {
		g, err := findGroup(tx, in.TargetGroupArn)
		if err != nil {
			return nil, err
		}
		if len(in.Targets) == 0 {
			return nil, validationError("At least one target must be specified")
		}
		for _, want := range in.Targets {
			for _, t := range g.Targets {
				if t.ID == val(want.Id) && (want.Port == nil || *want.Port == t.Port) {
					tx.DeregisterTarget(g, t.ID, t.Port)
				}
			}
		}
		return &awselb.DeregisterTargetsOutput{}, nil
	})
}

// DescribeTargetHealth lists the targets of a group with their health, including draining ones. It
// is not paged. Requested targets that are not registered are echoed as unused.
func (s *Service) DescribeTargetHealth(ctx context.Context,
	in *awselb.DescribeTargetHealthInput) (*awselb.DescribeTargetHealthOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awselb.DescribeTargetHealthOutput, error) {
		g, err := findGroup(tx, in.TargetGroupArn)
		if err != nil {
			return nil, err
		}
		out := &awselb.DescribeTargetHealthOutput{TargetHealthDescriptions: []elbtypes.TargetHealthDescription{}}
		add := func(d elbtypes.TargetHealthDescription) {
			out.TargetHealthDescriptions = append(out.TargetHealthDescriptions, d)
		}
		if len(in.Targets) == 0 {
			for _, t := range g.Targets {
				add(shapeHealth(g, t, in.Include))
			}
			return out, nil
		}
		for _, want := range in.Targets {
			if err := checkTarget(g, want); err != nil {
				return nil, err
			}
			if t := g.Find(*want.Id, portOf(g, want)); t != nil {
				add(shapeHealth(g, t, in.Include))
				continue
			}
			add(shapeUnregistered(g, want))
		}
		return out, nil
	})
}

func shapeHealth(g *world.TargetGroup, t *world.Target,
	include []elbtypes.DescribeTargetHealthInputIncludeEnum) elbtypes.TargetHealthDescription {
	d := elbtypes.TargetHealthDescription{
		Target: &elbtypes.TargetDescription{Id: ptr(t.ID), Port: ptr(t.Port),
			AvailabilityZone: optionalText(t.Zone)},
		HealthCheckPort: ptr(checkPort(g, t.Port)),
		TargetHealth: &elbtypes.TargetHealth{State: elbtypes.TargetHealthStateEnum(t.State),
			Reason: elbtypes.TargetHealthReasonEnum(t.Reason), Description: optionalText(t.Description)},
	}
	for _, i := range include {
		if i == elbtypes.DescribeTargetHealthInputIncludeEnumAnomaly ||
			i == elbtypes.DescribeTargetHealthInputIncludeEnumAll {
			d.AnomalyDetection = &elbtypes.AnomalyDetection{Result: elbtypes.AnomalyResultEnumNormal,
				MitigationInEffect: elbtypes.MitigationInEffectEnumNo}
		}
	}
	return d
}

func checkPort(g *world.TargetGroup, port int32) string {
	if g.Check.Port != "traffic-port" && g.Check.Port != "" {
		return g.Check.Port
	}
	return strconv.Itoa(int(port))
}

func shapeUnregistered(g *world.TargetGroup, t elbtypes.TargetDescription) elbtypes.TargetHealthDescription {
	port := portOf(g, t)
	return elbtypes.TargetHealthDescription{
		Target: &elbtypes.TargetDescription{Id: ptr(*t.Id), Port: &port,
			AvailabilityZone: deepCopy(t.AvailabilityZone)},
		HealthCheckPort: ptr(checkPort(g, port)),
		TargetHealth: &elbtypes.TargetHealth{State: elbtypes.TargetHealthStateEnumUnused,
			Reason:      elbtypes.TargetHealthReasonEnumNotRegistered,
			Description: ptr("Target is not registered to the target group")},
	}
}
