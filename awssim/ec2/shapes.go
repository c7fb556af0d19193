package ec2

// Filter restricts a list. Its values are alternatives; all filters must match.
type Filter struct {
	Name   string
	Values []string `wire:"Value"`
}

// Tag is a key and a value.
type Tag struct {
	Key   string
	Value *string
}

// TagSpecification holds tags for the resource that a call creates.
type TagSpecification struct {
	ResourceType string
	Tags         []Tag `wire:"Tag"`
}

// Flag is a boolean attribute.
type Flag struct{ Value bool }

// Vpc is a VPC as described.
type Vpc struct {
	VpcId           string
	State           string
	CidrBlock       string
	DhcpOptionsId   string
	InstanceTenancy string
	IsDefault       bool
	OwnerId         string
	Associations    []CidrAssociation `wire:"cidrBlockAssociationSet"`
	Tags            []Tag             `wire:"tagSet"`
}

// CidrAssociation is a range of a VPC.
type CidrAssociation struct {
	AssociationId string
	CidrBlock     string
	State         CidrState `wire:"cidrBlockState"`
}

// CidrState is the state of a range.
type CidrState struct{ State string }

// Subnet is a subnet as described.
type Subnet struct {
	SubnetId                string
	SubnetArn               string
	VpcId                   string
	State                   string
	CidrBlock               string
	AvailabilityZone        string
	AvailabilityZoneId      string
	AvailableIpAddressCount int
	DefaultForAz            bool
	MapPublicIpOnLaunch     bool
	OwnerId                 string
	Tags                    []Tag `wire:"tagSet"`
}

// SecurityGroup is a security group as described.
type SecurityGroup struct {
	GroupId             string
	GroupName           string
	GroupDescription    string
	VpcId               string
	OwnerId             string
	SecurityGroupArn    string
	IpPermissions       []IpPermission
	IpPermissionsEgress []IpPermission
	Tags                []Tag `wire:"tagSet"`
}

// IpPermission is the traffic that a security group allows for one protocol and port range.
type IpPermission struct {
	IpProtocol    string
	FromPort      *int32
	ToPort        *int32
	Groups        []GroupPair
	IpRanges      []IpRange
	Ipv6Ranges    []Ipv6Range
	PrefixListIds []PrefixList
}

// GroupPair is another security group as a peer.
type GroupPair struct {
	GroupId     string
	GroupName   string
	UserId      string
	VpcId       string
	Description string
}

// IpRange is an IPv4 range as a peer.
type IpRange struct{ CidrIp, Description string }

// Ipv6Range is an IPv6 range as a peer.
type Ipv6Range struct{ CidrIpv6, Description string }

// PrefixList is a prefix list as a peer.
type PrefixList struct{ PrefixListId, Description string }

// InternetGateway is an internet gateway as described.
type InternetGateway struct {
	InternetGatewayId string
	OwnerId           string
	Attachments       []GatewayAttachment `wire:"attachmentSet"`
	Tags              []Tag               `wire:"tagSet"`
}

// GatewayAttachment is the VPC of an internet gateway.
type GatewayAttachment struct{ VpcId, State string }

// Region is a Region as described.
type Region struct {
	RegionName     string
	RegionEndpoint string
	OptInStatus    string
}

// Zone is an Availability Zone as described.
type Zone struct {
	ZoneName           string
	ZoneState          string
	OptInStatus        string
	RegionName         string
	ZoneId             string
	GroupName          string
	NetworkBorderGroup string
	ZoneType           string
}

// TagDescription is a tag with its resource.
type TagDescription struct {
	ResourceId   string
	ResourceType string
	Key          string
	Value        string
}

// NetworkInterface is the elastic network interface of a task.
type NetworkInterface struct {
	NetworkInterfaceId string
	SubnetId           string
	VpcId              string
	AvailabilityZone   string
	Description        string
	OwnerId            string
	RequesterManaged   bool
	Status             string
	InterfaceType      string
	PrivateIpAddress   string
	PrivateDnsName     string
	MacAddress         string
	SourceDestCheck    bool
	Groups             []GroupName      `wire:"groupSet"`
	Addresses          []PrivateAddress `wire:"privateIpAddressesSet"`
	Tags               []Tag            `wire:"tagSet"`
}

// GroupName is a security group by id and name.
type GroupName struct{ GroupId, GroupName string }

// PrivateAddress is an address of a network interface.
type PrivateAddress struct {
	PrivateIpAddress string
	Primary          bool
}
