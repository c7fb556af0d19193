package tfstate

import (
	"encoding/json"
	"strings"
	"testing"
)

const stateText = `{"version": 4, "terraform_version": "1.9.5", "serial": 7, "lineage": "x",
"outputs": {"vpc_id": {"value": "vpc-1", "type": "string"}, "ports": {"value": [80, 443]}, "odd.name": {"value": true}},
"resources": [
 {"mode": "managed", "type": "aws_vpc", "name": "main", "provider": "p",
  "instances": [{"schema_version": 1, "attributes": {"id": "vpc-1", "tags": {"a.b": "dotted", "size": 1000000}}}]},
 {"mode": "managed", "type": "aws_subnet", "name": "all", "instances": [
  {"index_key": "a", "attributes": {"id": "subnet-a"}}, {"index_key": "b.c", "attributes": {"id": "subnet-bc"}}]},
 {"mode": "managed", "type": "aws_eip", "name": "nat", "instances": [
  {"index_key": 0, "attributes": {"id": "eip-0"}}, {"index_key": 1, "attributes": {"id": "eip-1"}}]},
 {"mode": "managed", "type": "aws_eip", "name": "lb", "instances": [
  {"index_key": 10, "attributes": {"id": "eip-10"}}, {"index_key": 2, "attributes": {"id": "eip-2"}}]},
 {"mode": "data", "type": "terraform_remote_state", "name": "net", "instances": [{"attributes": {"backend": "s3",
  "outputs": {"value": {"vpc": "vpc-r", "ids": ["a"]}, "type": ["object", {"vpc": "string"}]}}}]},
 {"mode": "data", "type": "aws_subnets", "name": "all", "instances": [{"attributes": {"ids": ["s-1", "s-2"]}}]},
 {"module": "module.net[\"x\"].module.inner", "mode": "managed", "type": "aws_vpc", "name": "main",
  "instances": [{"attributes": {"id": "vpc-x"}}]}
]}`

func TestLookup(t *testing.T) {
	s, err := Parse([]byte(stateText))
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		"aws_vpc.main.id":                                `"vpc-1"`,
		"aws_vpc.main.tags.size":                         `1000000`,
		`aws_vpc.main.tags["a.b"]`:                       `"dotted"`,
		"aws_subnet.all['a'].id":                         `"subnet-a"`,
		`aws_subnet.all["b.c"].id`:                       `"subnet-bc"`,
		"aws_eip.nat[1].id":                              `"eip-1"`,
		"data.aws_subnets.all.ids":                       `["s-1","s-2"]`,
		"data.aws_subnets.all.ids[1]":                    `"s-2"`,
		"module.net['x'].module.inner.aws_vpc.main.id":   `"vpc-x"`,
		"output.vpc_id":                                  `"vpc-1"`,
		"output.ports[0]":                                `80`,
		"aws_subnet.all[\"a\"]":                          `{"id":"subnet-a"}`,
		"aws_subnet.all":                                 `{"a":{"id":"subnet-a"},"b.c":{"id":"subnet-bc"}}`,
		"aws_eip.lb":                                     `[{"id":"eip-2"},{"id":"eip-10"}]`,
		"data.terraform_remote_state.net.outputs.vpc":    `"vpc-r"`,
		"data.terraform_remote_state.net.outputs.ids[0]": `"a"`,

		"aws_vpc.mian.id":             "the state has no aws_vpc.mian.id; it has aws_vpc.main",
		"aws_vpc.main.arn":            "aws_vpc.main.arn has no arn in the state; it has ",
		"aws_vpc.main.id.more":        "has no more in the state",
		"aws_eip.nat.id":              "the resource has 2 instances",
		"aws_eip.nat[2].id":           "the resource has 2 instances",
		"aws_vpc.main[0].id":          "has no 0 in the state",
		"data.aws_subnets.all.ids[2]": "the list has no element 2; it has 2",
		"aws_subnets.all.ids":         "the state has no aws_subnets.all.ids",
		"output.other":                "the state has no output.other; it has output.odd.name, output.ports",
		"aws_vpc":                     "the state has no aws_vpc",
		"":                            "it is empty",
		"aws_vpc..id":                 "it has an empty name",
		"aws_vpc.main.":               "it ends with a dot",
		"aws_eip.nat[0":               "no closing bracket",
		`aws_eip.nat["0]`:             "no closing quote",
		"aws_eip.nat[a]":              "neither a number nor a quoted text",
	} {
		value, err := s.Lookup(address)
		got, _ := json.Marshal(value)
		switch {
		case err == nil && string(got) != want:
			t.Errorf("%s: %s, not %s", address, got, want)
		case err != nil && !strings.Contains(err.Error(), want):
			t.Errorf("%s: %v, not %s", address, err, want)
		}
	}
}

func TestOtherFilesAreNoState(t *testing.T) {
	for text, want := range map[string]string{
		"":                 "it is not a Terraform state",
		"[]":               "it is not a Terraform state",
		"{}":               "it has version 0",
		`{"version": 3}`:   "it has version 3 of Terraform's state format, and only version 4 can be read",
		`{"version": "4"}`: "it is not a Terraform state",
		`{"version": 4, "resources": [{"module": "module.a[", "type": "t", "name": "n"}]}`: "no closing bracket",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, not %s", text, err, want)
		}
	}
}

func FuzzLookup(f *testing.F) {
	f.Add("aws_vpc.main.tags[\"a.b\"]")
	s, err := Parse([]byte(stateText))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, address string) {
		if value, err := s.Lookup(address); err != nil && value != nil {
			t.Errorf("%q: %v with %v", address, err, value)
		}
	})
}
