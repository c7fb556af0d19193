package terraform

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

const ecsARN = "arn:aws:ecs:us-east-1:123456789012:"

// elsewhere is an ARN of the same resource in another Region.
func elsewhere(resource string) string { return "arn:aws:ecs:eu-west-1:123456789012:" + resource }

// Values that cannot be right are refused when terraform validates, each by its attribute.
func TestBadValuesAreRefused(t *testing.T) {
	t.Parallel()
	c := newCore(t, values{"region": "us-east-1"})
	unknown := tftypes.NewValue(tftypes.String, tftypes.UnknownValue)
	for _, c1 := range []struct {
		more values
		want string // "": none
	}{
		{values{"cluster": "a/b"}, "The cluster is not the name or ARN of a cluster."},
		{values{"cluster": strings.Repeat("x", 300)}, "The cluster is not the name or ARN of a cluster."},
		{values{"service": "web\x1b[2J"}, "The service is not the name or ARN of a service."},
		{values{"service": ecsARN + "service/test/web"}, "The service is a service of cluster test, not of prod."},
		{values{"service": ecsARN + "service/test/web", "cluster": unknown}, ""},
		{values{"service": ecsARN + "service/prod/web", "task_definition": elsewhere("task-definition/web:1")},
			"The task definition is an ARN of Region eu-west-1, not of us-east-1."},
		{values{"task_definition": " "}, "The task definition is not family:revision"},
		{values{"task_definition": "web:latest"}, "The task definition is not family:revision"},
		{values{"task_definition": nil, "deployment_id": "latest"}, "The deployment is not the ARN or ID of"},
		{values{"deployment_id": "d-ABCDEFGHI"}, "Both deployment_id and task_definition given"},
		{values{"task_definition": unknown, "deployment_id": "d-ABCDEFGHI"}, ""},
		{values{"deployment_id": unknown}, ""},
		{values{"task_definition": unknown, "deployment_id": unknown}, ""},
		{values{"timeouts": map[string]any{"create": "-5s"}}, `"-5s" is not a duration above 0`},
		{values{"timeouts": map[string]any{"create": ""}}, `"" is not a duration above 0`},
		{values{"timeouts": map[string]any{"create": "15"}}, `"15" is not a duration above 0`},
		{values{"bake": "2"}, `"2" is not a duration above 0`},
		{values{"bake": ""}, `"" is not a duration above 0`},
		{values{"bake": unknown}, ""},
	} {
		text := c.validate(waitFor("web:1").with(c1.more))
		if c1.want == "" && text != "" || !strings.Contains(text, c1.want) || strings.Contains(text, "\x1b") {
			t.Errorf("%v: %q, want %q", c1.more, text, c1.want)
		}
	}
}

// Values that are wrong only at AWS give no outcome. The message has the words of Terraform.
func TestWrongPlacesAreExplained(t *testing.T) {
	t.Parallel()
	b := newBed(t, "rolling")
	role := map[string]any{"role_arn": "arn:aws:iam::123456789012:role/deploy"}
	if err := b.sim.Inject("denied sts:AssumeRole"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		provider, wait values
		want           []string
	}{
		{nil, values{"service": elsewhere("service/prod/web")}, []string{"Region eu-west-1, not of us-east-1", "next: "}},
		{nil, values{"service": "arn:aws:ecs:us-east-1:000000000000:service/prod/web"},
			[]string{"another account", "next: use credentials or a role of account 000000000000"}},
		{nil, values{"cluster": "shop"}, []string{"Cluster not found", "next: check the resource's name"}},
		{values{"endpoint": "http://127.0.0.1:1"}, nil, []string{"connection refused", "set by endpoint in the provider"}},
		{values{"endpoint": "http://user:planted@127.0.0.1:1"}, nil, []string{"http://***@127.0.0.1:1"}},
		{values{"assume_role": role}, nil, []string{"AccessDenied", "AssumeRole", "next: allow sts:AssumeRole"}},
	} {
		one := newCore(t, values{"endpoint": b.url}.with(c.provider))
		state, text := one.apply(one.nothing(), waitFor("web:1").with(c.wait))
		if !state.IsNull() || strings.Contains(text, "planted") || strings.Contains(text, "--") {
			t.Errorf("%v %v: %v %s", c.provider, c.wait, decode(state), text)
		}
		one.expectText(text, append(c.want, "Cannot wait for")...)
	}
}

// Both may be unknown until the apply, which then refuses them before it waits.
func TestTwoTargetsAreRefusedAtTheApply(t *testing.T) {
	t.Parallel()
	b := newBed(t, "rolling")
	c := newCore(t, values{"endpoint": b.url})
	state, text := c.apply(c.nothing(), waitFor("web:1").with(values{"deployment_id": "d-ABCDEFGHI"}))
	if c.expectText(text, "Both deployment_id and task_definition given"); !state.IsNull() {
		t.Errorf("state %v", decode(state))
	}
}
