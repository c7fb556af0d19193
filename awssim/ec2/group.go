package ec2

import (
	"context"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// group is a security group.
type group struct {
	id, name, description, vpc string
	in, out                    []permission
}

// CreateSecurityGroupInput describes a new security group; the default VPC is used if none is
// named.
type CreateSecurityGroupInput struct {
	GroupName         string
	GroupDescription  string
	VpcId             string
	TagSpecifications []TagSpecification `wire:"TagSpecification"`
}

// CreateSecurityGroupOutput holds the created group.
type CreateSecurityGroupOutput struct {
	Return           bool
	GroupId          string
	SecurityGroupArn string
	Tags             []Tag `wire:"tagSet"`
}

// DescribeSecurityGroupsInput selects security groups.
type DescribeSecurityGroupsInput struct {
	GroupIds   []string `wire:"GroupId"`
	GroupNames []string `wire:"GroupName"`
	Filters    []Filter `wire:"Filter"`
	MaxResults *int32
	NextToken  *string
}

// DescribeSecurityGroupsOutput lists security groups.
type DescribeSecurityGroupsOutput struct {
	SecurityGroups []SecurityGroup `wire:"securityGroupInfo"`
	NextToken      *string
}

// DeleteSecurityGroupInput names a security group by id, or one of the default
// VPC by name.
type DeleteSecurityGroupInput struct{ GroupId, GroupName string }

// DeleteSecurityGroupOutput confirms the deletion.
type DeleteSecurityGroupOutput struct {
	Return  bool
	GroupId string
}

// CreateSecurityGroup creates a security group that allows all outbound traffic.
func (s *Service) CreateSecurityGroup(ctx context.Context, in *CreateSecurityGroupInput) (*CreateSecurityGroupOutput,
	error) {
	switch {
	case in.GroupName == "":
		return nil, missingParameter("groupName")
	case in.GroupDescription == "":
		return nil, missingParameter("groupDescription")
	case in.GroupName == "default":
		return nil, world.Refuse("InvalidParameterValue", "Cannot use reserved security group name: default")
	case len(in.GroupName) > 3 && in.GroupName[:3] == "sg-":
		return nil,
			world.Refuse("InvalidParameterValue",
				"Invalid value '%s' for groupName. Group names may not be in the format sg-*.", in.GroupName)
	case len(in.GroupName) > 255 || len(in.GroupDescription) > 255:
		return nil,
			world.Refuse("InvalidParameterValue",
				"Invalid value for groupName or groupDescription. Up to 255 characters in length.")
	}
	tags, err := checkTags(in.TagSpecifications, "security-group")
	if err != nil {
		return nil, err
	}
	out := &CreateSecurityGroupOutput{Return: true}
	return out, s.runStep(ctx, func(d regionDesk) error {
		vpc, err := d.vpcOrDefault(in.VpcId)
		if err != nil {
			return err
		}
		for _, g := range d.groups.All() {
			if g.vpc == vpc && g.name == in.GroupName {
				return world.Refuse("InvalidGroup.Duplicate", "The security group '%s' already exists for VPC '%s'",
					g.name, vpc)
			}
		}
		g := d.addGroup(vpc, in.GroupName, in.GroupDescription)
		err = d.addTags(g.id, tags)
		out.GroupId, out.SecurityGroupArn, out.Tags = g.id, d.ARN("ec2", "security-group/"+g.id), d.tagsOf(g.id)
		return err
	})
}

// AddSecurityGroup adds a security group of the default network with an ID.
func AddSecurityGroup(ctx context.Context, w *world.World, id string) error {
	return w.Do(world.KeyOf(ctx), func(tx *world.Tx) error {
		d := regionDeskOf(tx)
		vpc, err := d.vpcOrDefault("")
		if err == nil {
			g := d.addGroup(vpc, id, "of the world file")
			d.groups.Delete(g.id)
			g.id = id
			d.groups.Put(id, g)
		}
		return err
	})
}

// vpcOrDefault returns the VPC with that id, or the default VPC for "".
func (d regionDesk) vpcOrDefault(id string) (string, error) {
	if id != "" {
		return id, d.checkExists(id)
	}
	for _, v := range d.VPCs.All() {
		if v.Default {
			return v.ID, nil
		}
	}
	return "", world.Refuse("VPCIdNotSpecified", "No default VPC for this user")
}

func (d regionDesk) addGroup(vpc, name, description string) *group {
	g := &group{id: d.newID("sg"), name: name, description: description, vpc: vpc}
	g.out = []permission{{protocol: "-1", kind: peerIPv4, peer: "0.0.0.0/0", rule: d.newID("sgr"), from: -1, to: -1}}
	if name == "default" {
		g.in = []permission{{protocol: "-1", kind: peerGroup, peer: g.id, rule: d.newID("sgr"), from: -1, to: -1}}
	}
	d.groups.Put(g.id, g)
	return g
}

func (d regionDesk) securityGroupOutput(g *group) SecurityGroup {
	return SecurityGroup{GroupId: g.id, GroupName: g.name, GroupDescription: g.description, VpcId: g.vpc,
		OwnerId:          d.Key.Account,
		SecurityGroupArn: d.ARN("ec2", "security-group/"+g.id), IpPermissions: d.mergePermissions(g.in),
		IpPermissionsEgress: d.mergePermissions(g.out),
		Tags:                d.tagsOf(g.id)}
}

func (g SecurityGroup) filterValues(name string) ([]string, bool) {
	switch name {
	case "group-id":
		return []string{g.GroupId}, true
	case "group-name":
		return []string{g.GroupName}, true
	case "description":
		return []string{g.GroupDescription}, true
	case "vpc-id":
		return []string{g.VpcId}, true
	case "owner-id":
		return []string{g.OwnerId}, true
	}
	return permissionValues(name, g.IpPermissions, g.IpPermissionsEgress)
}

// DescribeSecurityGroups lists security groups. It searches names in the default VPC.
func (s *Service) DescribeSecurityGroups(ctx context.Context,
	in *DescribeSecurityGroupsInput) (*DescribeSecurityGroupsOutput, error) {
	out := &DescribeSecurityGroupsOutput{}
	return out, s.runStep(ctx, func(d regionDesk) error {
		ids, err := d.groupIDs(in.GroupIds, in.GroupNames)
		if err != nil {
			return err
		}
		rows, err := selectRows(&d.groups, ids, d.checkExists)
		if err != nil {
			return err
		}
		all := []SecurityGroup{}
		for _, r := range rows {
			g := d.securityGroupOutput(r)
			ok, err := matchesFilters(in.Filters, g.Tags, g.filterValues)
			if err != nil {
				return err
			}
			if ok {
				all = append(all, g)
			}
		}
		out.SecurityGroups, out.NextToken, err = pageOf(all, len(ids), in.MaxResults, in.NextToken,
			func(g SecurityGroup) string { return g.GroupId })
		return err
	})
}

func (d regionDesk) groupIDs(ids, names []string) ([]string, error) {
	ids = append([]string(nil), ids...)
	for _, n := range names {
		g, err := d.findGroup("", n)
		if err != nil {
			return nil, err
		}
		ids = append(ids, g.id)
	}
	return ids, nil
}

// findGroup returns a security group by id, or by name in the default VPC.
func (d regionDesk) findGroup(id, name string) (*group, error) {
	if id != "" {
		if err := d.checkExists(id); err != nil {
			return nil, err
		}
		g, _ := d.groups.Get(id)
		return g, nil
	}
	if name == "" {
		return nil, missingParameter("groupId")
	}
	vpc, err := d.vpcOrDefault("")
	if err != nil {
		return nil, err
	}
	for _, g := range d.groups.All() {
		if g.vpc == vpc && g.name == name {
			return g, nil
		}
	}
	return nil, world.Refuse("InvalidGroup.NotFound", "The security group '%s' does not exist in default VPC '%s'",
		name, vpc)
}

// DeleteSecurityGroup deletes a group to which no other group refers. It does not check the use by
// tasks and load balancers.
func (s *Service) DeleteSecurityGroup(ctx context.Context, in *DeleteSecurityGroupInput) (*DeleteSecurityGroupOutput,
	error) {
	out := &DeleteSecurityGroupOutput{Return: true}
	return out, s.runStep(ctx, func(d regionDesk) error {
		g, err := d.findGroup(in.GroupId, in.GroupName)
		if err != nil {
			return err
		}
		out.GroupId = g.id
		if g.name == "default" {
			return world.Refuse("CannotDelete",
				"the specified group: \"%s\" name: \"default\" cannot be deleted by a user", g.id)
		}
		for _, o := range d.groups.All() {
			if o != g && o.hasPeer(g.id) {
				return world.Refuse("DependencyViolation", "resource %s has a dependent object", g.id)
			}
		}
		d.groups.Delete(g.id)
		d.tags.Delete(g.id)
		return nil
	})
}

func (g *group) hasPeer(id string) bool {
	for _, p := range append(append([]permission(nil), g.in...), g.out...) {
		if p.peer == id {
			return true
		}
	}
	return false
}
