package ec2_test

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	smithy "github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice/awssim/ec2"
	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

type stopped struct{}

func (stopped) Now() time.Time                             { return time.Unix(1_800_000_000, 0) }
func (stopped) Sleep(context.Context, time.Duration) error { return nil }

// site is the room alone, called without a protocol.
type site struct {
	*testing.T
	*wire.Server
	world *world.World
	ctx   context.Context
}

var here = world.Key{Account: "123456789012", Region: "eu-west-1"}

func newSite(t *testing.T) *site {
	w := world.New(world.Options{Clock: stopped{}, Strict: true})
	return &site{t, wire.New(w, ec2.NewAPI(w)), w, world.WithKey(context.Background(), here)}
}

// ask calls an operation that must succeed.
func ask[Out any](s *site, operation string, in any) *Out {
	s.Helper()
	out, err := s.Call(s.ctx, "EC2", operation, in)
	if err != nil {
		s.Fatalf("%s %+v: %v", operation, in, err)
	}
	return out.(*Out)
}

func (s *site) refused(operation string, in any, code, text string) {
	s.Helper()
	_, err := s.Call(s.ctx, "EC2", operation, in)
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != code || !strings.Contains(api.ErrorMessage(), text) {
		s.Errorf("%s %+v: %v, want %s with %q", operation, in, err, code, text)
	}
}

func (s *site) vpc(cidr string) string {
	s.Helper()
	return ask[ec2.VpcOutput](s, "CreateVpc", &ec2.CreateVpcInput{CidrBlock: cidr}).Vpc.VpcId
}

func (s *site) subnet(vpc, cidr, zone string) string {
	s.Helper()
	return ask[ec2.SubnetOutput](s, "CreateSubnet", &ec2.CreateSubnetInput{VpcId: vpc, CidrBlock: cidr,
		AvailabilityZone: zone}).Subnet.SubnetId
}

func filter(name string, values ...string) []ec2.Filter {
	return []ec2.Filter{{Name: name, Values: values}}
}

func TestADefaultNetworkIsThereFromTheStart(t *testing.T) {
	s := newSite(t)
	vpcs := ask[ec2.DescribeVpcsOutput](s, "DescribeVpcs",
		&ec2.DescribeVpcsInput{Filters: filter("is-default", "true")}).Vpcs
	if len(vpcs) != 1 || vpcs[0].CidrBlock != "127.16.0.0/16" {
		t.Fatalf("default VPCs: %+v", vpcs)
	}
	var got []string
	for _, n := range ask[ec2.DescribeSubnetsOutput](s, "DescribeSubnets",
		&ec2.DescribeSubnetsInput{Filters: filter("vpc-id", vpcs[0].VpcId)}).Subnets {
		got = append(got, n.AvailabilityZone+" "+n.AvailabilityZoneId+" "+n.CidrBlock)
		if !n.DefaultForAz || n.AvailableIpAddressCount != 4091 {
			t.Errorf("subnet %+v", n)
		}
	}
	want := []string{"eu-west-1a euw1-az1 127.16.0.0/20", "eu-west-1b euw1-az2 127.16.16.0/20",
		"eu-west-1c euw1-az3 127.16.32.0/20"}
	if !slices.Equal(got, want) {
		t.Errorf("subnets %q", got)
	}
	if g := ask[ec2.DescribeSecurityGroupsOutput](s, "DescribeSecurityGroups",
		&ec2.DescribeSecurityGroupsInput{GroupNames: []string{"default"}}).SecurityGroups; len(g) != 1 {
		t.Errorf("default security groups: %+v", g)
	}
	s.ctx = world.WithKey(s.ctx, world.Key{Account: here.Account, Region: "us-east-1"})
	if v := ask[ec2.DescribeVpcsOutput](s, "DescribeVpcs", &ec2.DescribeVpcsInput{}).Vpcs; len(v) != 1 ||
		v[0].CidrBlock != "127.17.0.0/16" {
		t.Errorf("the second Region has %+v", v)
	}
}

func TestSubnetsFitTheirVPC(t *testing.T) {
	s := newSite(t)
	v := s.vpc("10.0.0.0/16")
	s.subnet(v, "10.0.1.0/24", "eu-west-1b")
	s.refused("CreateSubnet", &ec2.CreateSubnetInput{VpcId: v, CidrBlock: "10.0.1.128/25"}, "InvalidSubnet.Conflict",
		"conflicts with another subnet")
	s.refused("CreateSubnet", &ec2.CreateSubnetInput{VpcId: v, CidrBlock: "10.1.0.0/24"}, "InvalidSubnet.Range",
		"10.1.0.0/24")
	s.refused("CreateSubnet", &ec2.CreateSubnetInput{VpcId: v, CidrBlock: "10.0.2.0/29"}, "InvalidSubnet.Range", "")
	s.refused("CreateSubnet", &ec2.CreateSubnetInput{VpcId: v, CidrBlock: "x"}, "InvalidParameterValue", "CIDR")
	s.refused("CreateSubnet", &ec2.CreateSubnetInput{VpcId: v, CidrBlock: "10.0.2.0/24",
		AvailabilityZone: "us-east-1a"}, "InvalidParameterValue", "eu-west-1a, eu-west-1b, eu-west-1c")
	s.refused("CreateSubnet", &ec2.CreateSubnetInput{VpcId: "vpc-1", CidrBlock: "10.0.2.0/24"}, "InvalidVpcID.NotFound",
		"vpc-1")
	s.refused("CreateSubnet", &ec2.CreateSubnetInput{CidrBlock: "10.0.2.0/24"}, "MissingParameter", "vpcId")
	s.refused("CreateVpc", &ec2.CreateVpcInput{CidrBlock: "10.0.0.0/8"}, "InvalidVpc.Range", "")
}

func TestWhatIsUsedIsNotDeleted(t *testing.T) {
	s := newSite(t)
	v := s.vpc("10.0.0.0/16")
	n := s.subnet(v, "10.0.1.0/24", "")
	task := &world.Task{ID: "0123456789abcdef0123456789abcdef", LastStatus: "RUNNING",
		Address: netip.MustParseAddr("10.0.1.4")}
	_ = s.world.Do(here, func(tx *world.Tx) error {
		task.Subnet, _ = tx.Subnets.Get(n)
		tx.Tasks.Put("arn", task)
		return nil
	})
	s.refused("DeleteVpc", &ec2.DeleteVpcInput{VpcId: v}, "DependencyViolation",
		"has dependencies and cannot be deleted")
	s.refused("DeleteSubnet", &ec2.DeleteSubnetInput{SubnetId: n}, "DependencyViolation", n)
	faces := ask[ec2.DescribeNetworkInterfacesOutput](s, "DescribeNetworkInterfaces",
		&ec2.DescribeNetworkInterfacesInput{Filters: filter("subnet-id", n)}).NetworkInterfaces
	if len(faces) != 1 || faces[0].NetworkInterfaceId != task.InterfaceID() || faces[0].PrivateIpAddress != "10.0.1.4" ||
		faces[0].MacAddress != task.InterfaceMAC() || faces[0].PrivateDnsName != "ip-10-0-1-4.eu-west-1.compute.internal" {
		t.Errorf("interfaces %+v", faces)
	}
	_ = s.world.Do(here, func(*world.Tx) error { task.LastStatus = "STOPPED"; return nil })
	ask[ec2.Done](s, "DeleteSubnet", &ec2.DeleteSubnetInput{SubnetId: n})
	ask[ec2.Done](s, "DeleteVpc", &ec2.DeleteVpcInput{VpcId: v})
	s.refused("DescribeVpcs", &ec2.DescribeVpcsInput{VpcIds: []string{v}}, "InvalidVpcID.NotFound",
		"The vpc ID '"+v+"' does not exist")
	if g := ask[ec2.DescribeSecurityGroupsOutput](s, "DescribeSecurityGroups",
		&ec2.DescribeSecurityGroupsInput{Filters: filter("vpc-id", v)}).SecurityGroups; len(g) != 0 {
		t.Errorf("left behind: %+v", g)
	}
}

func TestVPCAttributes(t *testing.T) {
	s := newSite(t)
	v := s.vpc("10.0.0.0/16")
	read := func(attribute string) *ec2.DescribeVpcAttributeOutput {
		return ask[ec2.DescribeVpcAttributeOutput](s, "DescribeVpcAttribute", &ec2.DescribeVpcAttributeInput{VpcId: v,
			Attribute: attribute})
	}
	if a := read("enableDnsSupport"); !a.EnableDnsSupport.Value || a.EnableDnsHostnames != nil {
		t.Errorf("at first %+v", a)
	}
	ask[ec2.Done](s, "ModifyVpcAttribute",
		&ec2.ModifyVpcAttributeInput{VpcId: v, EnableDnsHostnames: &ec2.Flag{Value: true}})
	if !read("enableDnsHostnames").EnableDnsHostnames.Value {
		t.Error("host names stayed off")
	}
	s.refused("ModifyVpcAttribute", &ec2.ModifyVpcAttributeInput{VpcId: v, EnableDnsHostnames: &ec2.Flag{},
		EnableDnsSupport: &ec2.Flag{}}, "InvalidParameterCombination", "")
	s.refused("DescribeVpcAttribute", &ec2.DescribeVpcAttributeInput{VpcId: v, Attribute: "x"}, "InvalidParameterValue",
		"")
}

func TestSecurityGroups(t *testing.T) {
	s := newSite(t)
	create := &ec2.CreateSecurityGroupInput{GroupName: "web", GroupDescription: "d"}
	g := ask[ec2.CreateSecurityGroupOutput](s, "CreateSecurityGroup", create).GroupId
	s.refused("CreateSecurityGroup", create, "InvalidGroup.Duplicate",
		"The security group 'web' already exists for VPC")
	p80 := int32(80)
	http := &ec2.PermissionsInput{GroupId: g,
		IpPermissions: []ec2.IpPermission{{IpProtocol: "tcp", FromPort: &p80, ToPort: &p80,
			IpRanges: []ec2.IpRange{{CidrIp: "0.0.0.0/0"}, {CidrIp: "10.0.0.0/8"}}}}}
	if out := ask[ec2.PermissionsOutput](s, "AuthorizeSecurityGroupIngress", http); len(out.Rules) != 2 {
		t.Errorf("rules %+v", out.Rules)
	}
	s.refused("AuthorizeSecurityGroupIngress", http, "InvalidPermission.Duplicate",
		`peer: 0.0.0.0/0, TCP, from port: 80, to port: 80, ALLOW`)
	got := ask[ec2.DescribeSecurityGroupsOutput](s, "DescribeSecurityGroups",
		&ec2.DescribeSecurityGroupsInput{GroupIds: []string{g}}).SecurityGroups[0]
	if len(got.IpPermissions) != 1 || len(got.IpPermissions[0].IpRanges) != 2 || len(got.IpPermissionsEgress) != 1 {
		t.Errorf("permissions %+v", got)
	}
	ask[ec2.Done](s, "RevokeSecurityGroupIngress", http)
	s.refused("RevokeSecurityGroupIngress", http, "InvalidPermission.NotFound", "")
	peer := ask[ec2.CreateSecurityGroupOutput](s, "CreateSecurityGroup", &ec2.CreateSecurityGroupInput{GroupName: "lb",
		GroupDescription: "d"}).GroupId
	ask[ec2.PermissionsOutput](s, "AuthorizeSecurityGroupEgress", &ec2.PermissionsInput{GroupId: g,
		IpPermissions: []ec2.IpPermission{{IpProtocol: "-1", Groups: []ec2.GroupPair{{GroupId: peer}}}}})
	s.refused("DeleteSecurityGroup", &ec2.DeleteSecurityGroupInput{GroupId: peer}, "DependencyViolation",
		"has a dependent object")
	ask[ec2.DeleteSecurityGroupOutput](s, "DeleteSecurityGroup", &ec2.DeleteSecurityGroupInput{GroupName: "web"})
	ask[ec2.DeleteSecurityGroupOutput](s, "DeleteSecurityGroup", &ec2.DeleteSecurityGroupInput{GroupId: peer})
	s.refused("DeleteSecurityGroup", &ec2.DeleteSecurityGroupInput{GroupName: "default"}, "CannotDelete", "")
	s.refused("DescribeSecurityGroups", &ec2.DescribeSecurityGroupsInput{GroupIds: []string{g}},
		"InvalidGroup.NotFound", g)
}

func TestGateways(t *testing.T) {
	s := newSite(t)
	v := s.vpc("10.0.0.0/16")
	g := ask[ec2.InternetGatewayOutput](s, "CreateInternetGateway",
		&ec2.CreateInternetGatewayInput{}).InternetGateway.InternetGatewayId
	both := &ec2.GatewayInput{InternetGatewayId: g, VpcId: v}
	s.refused("DetachInternetGateway", both, "Gateway.NotAttached", "")
	ask[ec2.Done](s, "AttachInternetGateway", both)
	s.refused("AttachInternetGateway", both, "Resource.AlreadyAssociated", "")
	s.refused("DeleteInternetGateway", &ec2.GatewayInput{InternetGatewayId: g}, "DependencyViolation", "")
	s.refused("DeleteVpc", &ec2.DeleteVpcInput{VpcId: v}, "DependencyViolation", "")
	if out := ask[ec2.DescribeInternetGatewaysOutput](s, "DescribeInternetGateways",
		&ec2.DescribeInternetGatewaysInput{Filters: filter("attachment.vpc-id", v)}); len(out.InternetGateways) != 1 {
		t.Errorf("gateways %+v", out)
	}
	ask[ec2.Done](s, "DetachInternetGateway", both)
	ask[ec2.Done](s, "DeleteInternetGateway", &ec2.GatewayInput{InternetGatewayId: g})
	ask[ec2.Done](s, "DeleteVpc", &ec2.DeleteVpcInput{VpcId: v})
}

func TestTagsAndFilters(t *testing.T) {
	s := newSite(t)
	v, value := s.vpc("10.0.0.0/16"), "blue-1"
	ask[ec2.Done](s, "CreateTags", &ec2.CreateTagsInput{ResourceIds: []string{v},
		Tags: []ec2.Tag{{Key: "Name", Value: &value}, {Key: "empty"}}})
	for pattern, n := range map[string]int{"blue-1": 1, "bl*": 1, "*-?": 1, "blue": 0, "?": 0} {
		if out := ask[ec2.DescribeVpcsOutput](s, "DescribeVpcs",
			&ec2.DescribeVpcsInput{Filters: filter("tag:Name", pattern)}); len(out.Vpcs) != n {
			t.Errorf("%q finds %d, want %d", pattern, len(out.Vpcs), n)
		}
	}
	s.refused("DescribeVpcs", &ec2.DescribeVpcsInput{Filters: filter("nope", "x")}, "InvalidParameterValue",
		"The filter 'nope' is invalid")
	s.refused("CreateTags", &ec2.CreateTagsInput{ResourceIds: []string{v, "sg-1"}, Tags: []ec2.Tag{{Key: "a"}}},
		"InvalidGroup.NotFound", "")
	ask[ec2.Done](s, "DeleteTags", &ec2.DeleteTagsInput{ResourceIds: []string{v}, Tags: []ec2.Tag{{Key: "Name"}}})
	out := ask[ec2.DescribeTagsOutput](s, "DescribeTags", &ec2.DescribeTagsInput{Filters: filter("resource-id", v)})
	if len(out.Tags) != 1 || out.Tags[0].Key != "empty" || out.Tags[0].ResourceType != "vpc" {
		t.Errorf("tags %+v", out.Tags)
	}
}

func TestListsArePaged(t *testing.T) {
	s := newSite(t)
	for range 11 {
		s.vpc("10.0.0.0/16")
	}
	five, n := int32(5), 0
	in := &ec2.DescribeVpcsInput{MaxResults: &five}
	for {
		out := ask[ec2.DescribeVpcsOutput](s, "DescribeVpcs", in)
		n += len(out.Vpcs)
		if in.NextToken = out.NextToken; in.NextToken == nil {
			break
		}
	}
	if n != 12 {
		t.Errorf("pages hold %d VPCs, want 12", n)
	}
	four, bad := int32(4), "x"
	s.refused("DescribeVpcs", &ec2.DescribeVpcsInput{MaxResults: &four}, "InvalidParameterValue", "between 5 and 1000")
	s.refused("DescribeVpcs", &ec2.DescribeVpcsInput{NextToken: &bad}, "InvalidPaginationToken", "")
}

func TestTheWireForm(t *testing.T) {
	s := newSite(t)
	post := func(form string) (int, string) {
		r, _ := http.NewRequest("POST", "http://sim/", strings.NewReader("Version=2016-11-15&"+form))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Authorization", "AWS4-HMAC-SHA256 "+
			"Credential=123456789012/20270102/eu-west-1/ec2/aws4_request, Signature=0")
		res, err := s.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(res.Body)
		return res.StatusCode, string(b)
	}
	status, body := post("Action=CreateVpc&CidrBlock=10.0.0.0%2F16&TagSpecification.1.ResourceType=vpc&TagSpecification.1.Tag.1.Key=Name&TagSpecification.1.Tag.1.Value=a%26b")
	var made struct {
		XMLName   xml.Name `xml:"http://ec2.amazonaws.com/doc/2016-11-15/ CreateVpcResponse"`
		RequestID string   `xml:"requestId"`
		ID        string   `xml:"vpc>vpcId"`
		Tags      []string `xml:"vpc>tagSet>item>value"`
	}
	if err := xml.Unmarshal([]byte(body), &made); err != nil || status != 200 || made.RequestID == "" ||
		!slices.Equal(made.Tags, []string{"a&b"}) {
		t.Fatalf("%d %s: %+v, %v", status, body, made, err)
	}
	status, body = post("Action=DeleteVpc&DryRun=true&VpcId=" + made.ID)
	if status != 412 || !strings.Contains(body, "<Response><Errors><Error><Code>DryRunOperation</Code>") {
		t.Errorf("dry run: %d %s", status, body)
	}
	status, body = post("Action=DeleteVpc&VpcId=" + made.ID)
	if status != 200 || !strings.Contains(body, "<return>true</return>") {
		t.Errorf("delete: %d %s", status, body)
	}
	if status, body = post("Action=RunInstances"); status != 400 ||
		!strings.Contains(body, "<Code>InvalidAction</Code>") {
		t.Errorf("unknown: %d %s", status, body)
	}
}

func TestPlaces(t *testing.T) {
	s := newSite(t)
	_ = s.world.Do(here, func(tx *world.Tx) error { tx.ActiveFaults.ZonesLost = map[string]bool{"eu-west-1b": true}; return nil })
	var got []string
	for _, z := range ask[ec2.DescribeAvailabilityZonesOutput](s, "DescribeAvailabilityZones",
		&ec2.DescribeAvailabilityZonesInput{}).Zones {
		got = append(got, z.ZoneName+" "+z.ZoneState)
	}
	if !slices.Equal(got, []string{"eu-west-1a available", "eu-west-1b impaired", "eu-west-1c available"}) {
		t.Errorf("zones %q", got)
	}
	if r := ask[ec2.DescribeRegionsOutput](s, "DescribeRegions",
		&ec2.DescribeRegionsInput{RegionNames: []string{"eu-west-1"}}).Regions; len(r) != 1 {
		t.Errorf("regions %+v", r)
	}
	if a := ask[ec2.DescribeAccountAttributesOutput](s, "DescribeAccountAttributes",
		&ec2.DescribeAccountAttributesInput{AttributeNames: []string{"supported-platforms"}}).Attributes; len(a) != 1 ||
		a[0].Values[0].Value != "VPC" {
		t.Errorf("attributes %+v", a)
	}
}
