package ec2

import (
	"context"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// gateway is an internet gateway; vpc is "" while it is detached.
type gateway struct{ id, vpc string }

// CreateInternetGatewayInput is the input of CreateInternetGateway.
type CreateInternetGatewayInput struct {
	TagSpecifications []TagSpecification `wire:"TagSpecification"`
}

// InternetGatewayOutput holds the created gateway.
type InternetGatewayOutput struct{ InternetGateway InternetGateway }

// GatewayInput names an internet gateway, and a VPC for attach and detach.
type GatewayInput struct{ InternetGatewayId, VpcId string }

// DescribeInternetGatewaysInput selects internet gateways.
type DescribeInternetGatewaysInput struct {
	InternetGatewayIds []string `wire:"InternetGatewayId"`
	Filters            []Filter `wire:"Filter"`
	MaxResults         *int32
	NextToken          *string
}

// DescribeInternetGatewaysOutput lists internet gateways.
type DescribeInternetGatewaysOutput struct {
	InternetGateways []InternetGateway `wire:"internetGatewaySet"`
	NextToken        *string
}

// CreateInternetGateway creates a detached gateway.
func (s *Service) CreateInternetGateway(ctx context.Context, in *CreateInternetGatewayInput) (*InternetGatewayOutput,
	error) {
	tags, err := checkTags(in.TagSpecifications, "internet-gateway")
	if err != nil {
		return nil, err
	}
	out := &InternetGatewayOutput{}
	return out, s.runStep(ctx, func(d regionDesk) error {
		g := &gateway{id: d.newID("igw")}
		d.gateways.Put(g.id, g)
		err := d.addTags(g.id, tags)
		out.InternetGateway = d.gatewayOutput(g)
		return err
	})
}

func (d regionDesk) gatewayOutput(g *gateway) InternetGateway {
	x := InternetGateway{InternetGatewayId: g.id, OwnerId: d.Key.Account, Attachments: []GatewayAttachment{},
		Tags: d.tagsOf(g.id)}
	if g.vpc != "" {
		x.Attachments = append(x.Attachments, GatewayAttachment{g.vpc, "available"})
	}
	return x
}

func (g InternetGateway) filterValues(name string) (values []string, ok bool) {
	switch name {
	case "internet-gateway-id":
		return []string{g.InternetGatewayId}, true
	case "owner-id":
		return []string{g.OwnerId}, true
	case "attachment.vpc-id", "attachment.state":
		for _, a := range g.Attachments {
			values = append(values, map[bool]string{true: a.State, false: a.VpcId}[name == "attachment.state"])
		}
		return values, true
	}
	return nil, false
}

// DescribeInternetGateways lists internet gateways.
func (s *Service) DescribeInternetGateways(ctx context.Context,
	in *DescribeInternetGatewaysInput) (*DescribeInternetGatewaysOutput, error) {
	out := &DescribeInternetGatewaysOutput{}
	return out, s.runStep(ctx, func(d regionDesk) error {
		rows, err := selectRows(&d.gateways, in.InternetGatewayIds, d.checkExists)
		if err != nil {
			return err
		}
		all := []InternetGateway{}
		for _, r := range rows {
			g := d.gatewayOutput(r)
			ok, err := matchesFilters(in.Filters, g.Tags, g.filterValues)
			if err != nil {
				return err
			}
			if ok {
				all = append(all, g)
			}
		}
		out.InternetGateways, out.NextToken, err = pageOf(all, len(in.InternetGatewayIds), in.MaxResults, in.NextToken,
			func(g InternetGateway) string { return g.InternetGatewayId })
		return err
	})
}

// AttachInternetGateway attaches a gateway to a VPC that has none.
func (s *Service) AttachInternetGateway(ctx context.Context, in *GatewayInput) (*Done, error) {
	return newDone(), s.runStep(ctx, func(d regionDesk) error {
		g, err := d.gatewayAndVPC(in)
		if err != nil {
			return err
		}
		if g.vpc != "" {
			return world.Refuse("Resource.AlreadyAssociated", "resource %s is already attached to network %s", g.id,
				g.vpc)
		}
		for _, o := range d.gateways.All() {
			if o.vpc == in.VpcId {
				return world.Refuse("InvalidParameterValue", "Network %s already has an internet gateway attached",
					in.VpcId)
			}
		}
		g.vpc = in.VpcId
		return nil
	})
}

// DetachInternetGateway detaches a gateway from its VPC.
func (s *Service) DetachInternetGateway(ctx context.Context, in *GatewayInput) (*Done, error) {
	return newDone(), s.runStep(ctx, func(d regionDesk) error {
		g, err := d.gatewayAndVPC(in)
		if err != nil {
			return err
		}
		if g.vpc != in.VpcId {
			return world.Refuse("Gateway.NotAttached", "resource %s is not attached to network %s", g.id, in.VpcId)
		}
		g.vpc = ""
		return nil
	})
}

func (d regionDesk) gatewayAndVPC(in *GatewayInput) (*gateway, error) {
	switch {
	case in.InternetGatewayId == "":
		return nil, missingParameter("internetGatewayId")
	case in.VpcId == "":
		return nil, missingParameter("vpcId")
	}
	for _, id := range []string{in.InternetGatewayId, in.VpcId} {
		if err := d.checkExists(id); err != nil {
			return nil, err
		}
	}
	g, _ := d.gateways.Get(in.InternetGatewayId)
	return g, nil
}

// DeleteInternetGateway deletes a detached gateway.
func (s *Service) DeleteInternetGateway(ctx context.Context, in *GatewayInput) (*Done, error) {
	if in.InternetGatewayId == "" {
		return nil, missingParameter("internetGatewayId")
	}
	return newDone(), s.runStep(ctx, func(d regionDesk) error {
		if err := d.checkExists(in.InternetGatewayId); err != nil {
			return err
		}
		if g, _ := d.gateways.Get(in.InternetGatewayId); g.vpc != "" {
			return world.Refuse("DependencyViolation",
				"The internetGateway '%s' has dependencies and cannot be deleted.", g.id)
		}
		d.gateways.Delete(in.InternetGatewayId)
		d.tags.Delete(in.InternetGatewayId)
		return nil
	})
}
