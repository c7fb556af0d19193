package signedread

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
)

// FunctionState returns the state of a function of Lambda, by its name or ARN: Active, Pending, Inactive or Failed.
func (r Reader) FunctionState(ctx context.Context, function string) (string, error) {
	data, err := r.callPath(ctx, "lambda", http.MethodGet, "GetFunctionConfiguration", function,
		"/2015-03-31/functions/"+url.PathEscape(function)+"/configuration")
	if err != nil {
		return "", err
	}
	var out struct{ State string }
	err = json.Unmarshal(data, &out)
	return out.State, err
}

const ec2Version = "2016-11-15"

// Networks returns the VPC of each of the subnets that exist, by the subnet's ID.
func (r Reader) Networks(ctx context.Context, subnets []string) (map[string]string, error) {
	var out struct {
		Items []struct {
			ID  string `xml:"subnetId"`
			VPC string `xml:"vpcId"`
		} `xml:"subnetSet>item"`
	}
	err := r.callQuery(ctx, "ec2", ec2Version, "DescribeSubnets", "", filterOf("subnet-id", subnets), &out)
	all := map[string]string{}
	for _, i := range out.Items {
		all[i.ID] = i.VPC
	}
	return all, err
}

// GroupNetworks returns the VPC of each of the security groups that exist, by the group's ID.
func (r Reader) GroupNetworks(ctx context.Context, groups []string) (map[string]string, error) {
	var out struct {
		Items []struct {
			ID  string `xml:"groupId"`
			VPC string `xml:"vpcId"`
		} `xml:"securityGroupInfo>item"`
	}
	err := r.callQuery(ctx, "ec2", ec2Version, "DescribeSecurityGroups", "", filterOf("group-id", groups), &out)
	all := map[string]string{}
	for _, i := range out.Items {
		all[i.ID] = i.VPC
	}
	return all, err
}

func filterOf(name string, values []string) url.Values {
	in := url.Values{"Filter.1.Name": {name}}
	for i, v := range values {
		in.Set(fmt.Sprintf("Filter.1.Value.%d", i+1), v)
	}
	return in
}
