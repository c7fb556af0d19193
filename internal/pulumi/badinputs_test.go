package pulumi_test

import (
	"context"
	"strings"
	"testing"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

const ecsARN = "arn:aws:ecs:us-east-1:123456789012:"

// elsewhere is an ARN of the same resource in another Region.
func elsewhere(resource string) string { return "arn:aws:ecs:eu-west-1:123456789012:" + resource }

// Inputs that cannot be right are refused before the wait, each by its property.
func TestBadInputsAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, worldFile)
	for _, c := range []struct {
		property string
		value    any
		want     string
	}{
		{"clusterName", "a/b", "is not the name or ARN of a cluster"},
		{"clusterName", strings.Repeat("x", 300), "is not the name or ARN of a cluster"},
		{"clusterName", ecsARN + "service/prod/web", "is not the name or ARN of a cluster"},
		{"clusterName", elsewhere("cluster/prod"), "is an ARN of Region eu-west-1, not of us-east-1"},
		{"serviceName", "web\nname", "is not the name or ARN of a service"},
		{"serviceName", "web\x1b[2J", "is not the name or ARN of a service"},
		{"serviceName", elsewhere("service/prod/web"), "is an ARN of Region eu-west-1, not of us-east-1"},
		{"serviceName", ecsARN + "service/test/web", "is a service of cluster test, not of prod"},
		{"desiredTaskDef", ":1", "is not family:revision or the ARN of a task definition"},
		{"desiredTaskDef", "web:latest", "is not family:revision"},
		{"desiredTaskDef", ecsARN + "cluster/prod", "is not family:revision or the ARN of a task definition"},
		{"desiredTaskDef", elsewhere("task-definition/web:1"), "is an ARN of Region eu-west-1, not of us-east-1"},
		{"deploymentId", "latest", "is not the ARN or ID of a service deployment"},
		{"deploymentId", ecsARN + "service-deployment/test/web/abcdefghijklmnop", "of cluster test, not of prod"},
		{"timeoutMs", -5, "1 or more, not -5"},
		{"timeoutMs", 0.5, "1 or more"},
		{"bakeMs", -5, "1 or more, not -5"},
		{"bakeMs", "2m", "must be a number of milliseconds, not a string"},
		{"timeoutMs", 1e300, "1 or more"},
		{"timeoutMs", []any{}, "not a list"},
		{"endpoint", "ftp://127.0.0.1", "must be a URL"},
		{"assumeRole", "arn:aws:iam::123456789012:user/deploy", "must be the ARN of a role"},
		{"awsRegion", "", "must not be empty"},
	} {
		in := map[string]any{"awsRegion": "us-east-1", c.property: c.value}
		check := got(r.Check(context.Background(), &pulumirpc.CheckRequest{Urn: urn, News: inputs(t, "web:1", in)}))(t)
		all := check.GetFailures()
		if len(all) != 1 || all[0].GetProperty() != c.property || !strings.Contains(all[0].GetReason(), c.want) {
			t.Errorf("%s %v: %v, want %q", c.property, c.value, all, c.want)
		}
	}
}

// Inputs that are wrong only at AWS end the wait without an outcome. The message has the words of the program.
func TestWrongPlacesAreExplained(t *testing.T) {
	t.Parallel()
	r := newRig(t, worldFile)
	r.serve("sim/web:v1", breaker{true, true})
	for _, c := range []struct {
		property, value string
		want            []string
	}{
		{"awsRegion", "US EAST", []string{`"US EAST" is not a Region name`, "next: set awsRegion"}},
		{"serviceName", elsewhere("service/prod/web"), []string{"Region eu-west-1, not of us-east-1", "next: "}},
		{"serviceName", "arn:aws:ecs:us-east-1:000000000000:service/prod/web",
			[]string{"another account", "next: use credentials or a role of account 000000000000"}},
		{"clusterName", "shop", []string{"cluster shop", "Cluster not found", "next: check the resource's name"}},
		{"desiredTaskDef", "api:7", []string{"api:7", "next: give family:revision or the ARN"}},
		{"endpoint", "http://127.0.0.1:1", []string{"nothing listens at 127.0.0.1:1", "connection refused",
			"next: start the local AWS", "it was set by endpoint, AWS_ENDPOINT_URL or the profile"}},
		{"endpoint", "http://user:planted@127.0.0.1:1", []string{"http://***@127.0.0.1:1", "user name"}},
		{"assumeRole", "arn:aws:iam::role/deploy", []string{"assume role", "is invalid", "next: check the role's ARN"}},
	} {
		got := r.create(inputs(t, "web:1", map[string]any{c.property: c.value}), 3)
		if got.err == nil || got.kept {
			t.Errorf("%s %s: an outcome: %v", c.property, c.value, got)
			continue
		}
		for _, want := range c.want {
			if text := got.err.Error(); !strings.Contains(text, want) || strings.Contains(text, "planted") ||
				strings.Contains(text, "--") {
				t.Errorf("%s %s: no %q in %s", c.property, c.value, want, text)
			}
		}
	}
}
