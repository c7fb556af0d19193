package ec2

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// permission is one rule of a security group: one protocol, one port range, one peer. Ports are -1
// if the protocol has none.
type permission struct {
	protocol          string
	from, to          int32
	kind              peerKind
	peer, description string
	rule              string // sgr-…
}

type peerKind int

const (
	peerGroup peerKind = iota
	peerIPv4
	peerIPv6
	peerList
)

// PermissionsInput names permissions to add to a security group or to remove from it.
type PermissionsInput struct {
	GroupId       string
	GroupName     string
	IpPermissions []IpPermission
	IpProtocol    string
	FromPort      *int32
	ToPort        *int32
	CidrIp        string
	SourceGroup   string `wire:"SourceSecurityGroupName"`
}

// SecurityGroupRule is one permission with its own id.
type SecurityGroupRule struct {
	SecurityGroupRuleId string
	GroupId             string
	GroupOwnerId        string
	IsEgress            bool
	IpProtocol          string
	FromPort            int32
	ToPort              int32
	CidrIpv4            string
	CidrIpv6            string
	PrefixListId        string
	Description         string
	ReferencedGroupInfo *GroupPair
}

// PermissionsOutput holds the added permissions.
type PermissionsOutput struct {
	Return bool
	Rules  []SecurityGroupRule `wire:"securityGroupRuleSet"`
}

// AuthorizeSecurityGroupIngress adds inbound permissions.
func (s *Service) AuthorizeSecurityGroupIngress(ctx context.Context, in *PermissionsInput) (*PermissionsOutput, error) {
	return s.addPermissions(ctx, in, false)
}

// AuthorizeSecurityGroupEgress adds outbound permissions.
func (s *Service) AuthorizeSecurityGroupEgress(ctx context.Context, in *PermissionsInput) (*PermissionsOutput, error) {
	return s.addPermissions(ctx, in, true)
}

// RevokeSecurityGroupIngress removes inbound permissions.
func (s *Service) RevokeSecurityGroupIngress(ctx context.Context, in *PermissionsInput) (*Done, error) {
	return s.removePermissions(ctx, in, false)
}

// RevokeSecurityGroupEgress removes outbound permissions.
func (s *Service) RevokeSecurityGroupEgress(ctx context.Context, in *PermissionsInput) (*Done, error) {
	return s.removePermissions(ctx, in, true)
}

func (s *Service) addPermissions(ctx context.Context, in *PermissionsInput, egress bool) (*PermissionsOutput, error) {
	out := &PermissionsOutput{Return: true, Rules: []SecurityGroupRule{}}
	return out, s.runStep(ctx, func(d regionDesk) error {
		g, asked, err := d.readPermissions(in)
		if err != nil {
			return err
		}
		side := g.permissionsOf(egress)
		for i, p := range asked {
			if slices.ContainsFunc(*side, p.isSame) || slices.ContainsFunc(asked[:i], p.isSame) {
				return world.Refuse("InvalidPermission.Duplicate", "the specified rule %q already exists", p.String())
			}
		}
		for _, p := range asked {
			p.rule = d.newID("sgr")
			*side = append(*side, p)
			out.Rules = append(out.Rules, d.ruleOutput(g, p, egress))
		}
		return nil
	})
}

func (s *Service) removePermissions(ctx context.Context, in *PermissionsInput, egress bool) (*Done, error) {
	return newDone(), s.runStep(ctx, func(d regionDesk) error {
		g, asked, err := d.readPermissions(in)
		if err != nil {
			return err
		}
		side := g.permissionsOf(egress)
		for _, p := range asked {
			if !slices.ContainsFunc(*side, p.isSame) {
				return world.Refuse("InvalidPermission.NotFound",
					"The specified rule does not exist in this security group.")
			}
		}
		for _, p := range asked {
			*side = slices.DeleteFunc(*side, p.isSame)
		}
		return nil
	})
}

func (g *group) permissionsOf(egress bool) *[]permission {
	if egress {
		return &g.out
	}
	return &g.in
}

func (p permission) isSame(q permission) bool {
	return p.protocol == q.protocol && p.from == q.from && p.to == q.to && p.kind == q.kind && p.peer == q.peer
}

// String returns the rule in the words of AWS's error.
func (p permission) String() string {
	if p.protocol == "-1" {
		return fmt.Sprintf("peer: %s, ALL, ALLOW", p.peer)
	}
	return fmt.Sprintf("peer: %s, %s, from port: %d, to port: %d, ALLOW", p.peer, strings.ToUpper(p.protocol), p.from,
		p.to)
}

// readPermissions returns the group and the permissions that an input names.
func (d regionDesk) readPermissions(in *PermissionsInput) (*group, []permission, error) {
	g, err := d.findGroup(in.GroupId, in.GroupName)
	if err != nil {
		return nil, nil, err
	}
	list := in.IpPermissions
	if len(list) == 0 && in.IpProtocol != "" {
		one := IpPermission{IpProtocol: in.IpProtocol, FromPort: in.FromPort, ToPort: in.ToPort}
		if in.CidrIp != "" {
			one.IpRanges = []IpRange{{CidrIp: in.CidrIp}}
		}
		if in.SourceGroup != "" {
			one.Groups = []GroupPair{{GroupName: in.SourceGroup}}
		}
		list = []IpPermission{one}
	}
	var all []permission
	for _, ip := range list {
		ps, err := d.splitByPeer(ip)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, ps...)
	}
	if len(all) == 0 {
		return nil, nil, missingParameter("ipPermissions")
	}
	return g, all, nil
}

// splitByPeer returns one permission per peer.
func (d regionDesk) splitByPeer(ip IpPermission) ([]permission, error) {
	p, err := readPorts(ip)
	if err != nil {
		return nil, err
	}
	var all []permission
	add := func(kind peerKind, peer, description string) {
		p.kind, p.peer, p.description = kind, peer, description
		all = append(all, p)
	}
	for _, x := range ip.Groups {
		g, err := d.findGroup(x.GroupId, x.GroupName)
		if err != nil {
			return nil, err
		}
		add(peerGroup, g.id, x.Description)
	}
	for _, x := range ip.IpRanges {
		c, err := netip.ParsePrefix(x.CidrIp)
		if err != nil || !c.Addr().Is4() || c != c.Masked() {
			return nil, world.Refuse("InvalidParameterValue", "CIDR block %s is malformed", x.CidrIp)
		}
		add(peerIPv4, x.CidrIp, x.Description)
	}
	for _, x := range ip.Ipv6Ranges {
		if c, err := netip.ParsePrefix(x.CidrIpv6); err != nil || !c.Addr().Is6() {
			return nil, world.Refuse("InvalidParameterValue", "CIDR block %s is malformed", x.CidrIpv6)
		}
		add(peerIPv6, x.CidrIpv6, x.Description)
	}
	for _, x := range ip.PrefixListIds {
		add(peerList, x.PrefixListId, x.Description)
	}
	return all, nil
}

var protocols = map[string]string{"6": "tcp", "17": "udp", "1": "icmp", "58": "icmpv6", "all": "-1"}

// readPorts checks protocol and ports.
func readPorts(ip IpPermission) (permission, error) {
	p := permission{protocol: strings.ToLower(ip.IpProtocol), from: -1, to: -1}
	if name, ok := protocols[p.protocol]; ok {
		p.protocol = name
	}
	switch p.protocol {
	case "":
		return p, missingParameter("ipProtocol")
	case "-1":
		return p, nil
	case "tcp", "udp":
		if ip.FromPort == nil || ip.ToPort == nil {
			return p,
				world.Refuse("InvalidParameterValue",
					"Invalid value 'Must specify both from and to ports with TCP/UDP.' for portRange.")
		}
		p.from, p.to = *ip.FromPort, *ip.ToPort
		if p.from < 0 || p.to > 65535 || p.from > p.to {
			return p, world.Refuse("InvalidParameterValue", "Invalid value for portRange: from %d to %d.", p.from, p.to)
		}
		return p, nil
	case "icmp", "icmpv6":
	default:
		if n, err := strconv.Atoi(p.protocol); err != nil || n < 0 || n > 255 {
			return p, world.Refuse("InvalidParameterValue", "Invalid value '%s' for IP protocol. Unknown protocol.",
				ip.IpProtocol)
		}
	}
	if ip.FromPort != nil {
		p.from = *ip.FromPort
	}
	if ip.ToPort != nil {
		p.to = *ip.ToPort
	}
	return p, nil
}

// mergePermissions describes permissions. Those with the same protocol and port range become one,
// with several peers.
func (d regionDesk) mergePermissions(ps []permission) []IpPermission {
	all := []IpPermission{}
	at := map[string]int{}
	for _, p := range ps {
		key := fmt.Sprint(p.protocol, " ", p.from, " ", p.to)
		i, ok := at[key]
		if !ok {
			i = len(all)
			at[key] = i
			all = append(all, p.withoutPeers())
		}
		d.addPeer(&all[i], p)
	}
	return all
}

func (p permission) withoutPeers() IpPermission {
	ip := IpPermission{IpProtocol: p.protocol, Groups: []GroupPair{}, IpRanges: []IpRange{}, Ipv6Ranges: []Ipv6Range{},
		PrefixListIds: []PrefixList{}}
	if p.protocol != "-1" {
		ip.FromPort, ip.ToPort = &p.from, &p.to
	}
	return ip
}

func (d regionDesk) addPeer(ip *IpPermission, p permission) {
	switch p.kind {
	case peerGroup:
		ip.Groups = append(ip.Groups, GroupPair{GroupId: p.peer, UserId: d.Key.Account, Description: p.description})
	case peerIPv4:
		ip.IpRanges = append(ip.IpRanges, IpRange{p.peer, p.description})
	case peerIPv6:
		ip.Ipv6Ranges = append(ip.Ipv6Ranges, Ipv6Range{p.peer, p.description})
	case peerList:
		ip.PrefixListIds = append(ip.PrefixListIds, PrefixList{p.peer, p.description})
	}
}

func (d regionDesk) ruleOutput(g *group, p permission, egress bool) SecurityGroupRule {
	r := SecurityGroupRule{SecurityGroupRuleId: p.rule, GroupId: g.id, GroupOwnerId: d.Key.Account, IsEgress: egress,
		IpProtocol: p.protocol, FromPort: p.from, ToPort: p.to, Description: p.description}
	switch p.kind {
	case peerGroup:
		r.ReferencedGroupInfo = &GroupPair{GroupId: p.peer, UserId: d.Key.Account}
	case peerIPv4:
		r.CidrIpv4 = p.peer
	case peerIPv6:
		r.CidrIpv6 = p.peer
	case peerList:
		r.PrefixListId = p.peer
	}
	return r
}

// permissionValues returns the values for the filters ip-permission.* and egress.ip-permission.*.
func permissionValues(name string, in, out []IpPermission) (values []string, ok bool) {
	list := in
	if rest, egress := strings.CutPrefix(name, "egress."); egress {
		name, list = rest, out
	}
	for _, p := range list {
		switch name {
		case "ip-permission.protocol":
			values = append(values, p.IpProtocol)
		case "ip-permission.from-port":
			values = append(values, portText(p.FromPort))
		case "ip-permission.to-port":
			values = append(values, portText(p.ToPort))
		case "ip-permission.cidr":
			for _, r := range p.IpRanges {
				values = append(values, r.CidrIp)
			}
		case "ip-permission.group-id":
			for _, g := range p.Groups {
				values = append(values, g.GroupId)
			}
		}
	}
	switch name {
	case "ip-permission.protocol", "ip-permission.from-port", "ip-permission.to-port", "ip-permission.cidr",
		"ip-permission.group-id":
		return values, true
	}
	return nil, false
}

func portText(p *int32) string {
	if p == nil {
		return "-1"
	}
	return strconv.Itoa(int(*p))
}
