package world

import "strings"

// partitions are the partitions of AWS other than aws, by the beginning of their Regions' names
// (AWS General Reference, "Amazon Resource Names (ARNs)").
var partitions = []struct{ region, name string }{
	{"cn-", "aws-cn"}, {"us-gov-", "aws-us-gov"}, {"eusc-", "aws-eusc"}, {"us-iso-", "aws-iso"},
	{"us-isob-", "aws-iso-b"}, {"us-isof-", "aws-iso-f"}, {"eu-isoe-", "aws-iso-e"},
}

// Partition returns the partition of the Region: "aws-cn" for cn-north-1.
func (k Key) Partition() string {
	for _, p := range partitions {
		if strings.HasPrefix(k.Region, p.region) {
			return p.name
		}
	}
	return "aws"
}

// DNSSuffix returns the end of the names of AWS's hosts in the Region.
func (k Key) DNSSuffix() string {
	switch k.Partition() {
	case "aws-cn":
		return "amazonaws.com.cn"
	case "aws-eusc":
		return "amazonaws.eu"
	}
	return "amazonaws.com"
}

// ARN builds an Amazon Resource Name of this account and Region.
func (k Key) ARN(service, resource string) string {
	return "arn:" + k.Partition() + ":" + service + ":" + k.Region + ":" + k.Account + ":" + resource
}

// GlobalARN builds the name of a resource that no Region has, such as a role.
func (k Key) GlobalARN(service, resource string) string {
	return "arn:" + k.Partition() + ":" + service + "::" + k.Account + ":" + resource
}
