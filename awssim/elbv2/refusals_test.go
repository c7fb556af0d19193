package elbv2_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	smithy "github.com/aws/smithy-go"
)

// call sends a request whose input is given as JSON, and returns "code: text" of the refusal.
func (b *bench) call(operation, input string) string {
	b.Helper()
	f := reflect.ValueOf(b.Client).MethodByName(operation)
	in := reflect.New(f.Type().In(1).Elem())
	if err := json.Unmarshal([]byte(input), in.Interface()); err != nil {
		b.Fatalf("%s %s: %v", operation, input, err)
	}
	out := f.Call([]reflect.Value{reflect.ValueOf(b.ctx), in})
	err, _ := out[1].Interface().(error)
	var api smithy.APIError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &api):
		return api.ErrorCode() + ": " + api.ErrorMessage()
	}
	return err.Error()
}

// groupWith is a target group with more members.
func groupWith(more string) string {
	return `{"Name": "web", "Port": 80, "VpcId": "vpc-1", ` + more + `}`
}

// ruleOn is a rule of the listener LISTENER with one condition.
func ruleOn(condition string) string {
	return `{"ListenerArn": "LISTENER", "Priority": 7, "Actions": [{"Type": "forward", "TargetGroupArn": "GROUP"}],
		"Conditions": [` + condition + `]}`
}

func attribute(key, value string) string {
	return `{"TargetGroupArn": "GROUP", "Attributes": [{"Key": "` + key + `", "Value": "` + value + `"}]}`
}

// refusedCalls are requests in their order, with AWS's answer; "" is success.
var refusedCalls = []struct{ operation, input, answer string }{
	{"CreateTargetGroup", `{"Name": "a_b", "Protocol": "HTTP", "Port": 80, "VpcId": "vpc-1"}`, "ValidationError: Target " +
		"group name 'a_b' can only contain characters that are alphanumeric characters or hyphens(-)"},
	{"CreateTargetGroup", groupWith(`"TargetType": "lambda", "Protocol": "HTTP"`),
		"ValidationError: Protocol cannot be specified for target groups with target type 'lambda'"},
	{"CreateTargetGroup", groupWith(`"TargetType": "lambda"`),
		"ValidationError: Port cannot be specified for target groups with target type 'lambda'"},
	{"CreateTargetGroup", `{"Name": "web", "TargetType": "lambda", "VpcId": "vpc-1"}`,
		"ValidationError: VPC ID cannot be specified for target groups with target type 'lambda'"},
	{"CreateTargetGroup", groupWith(`"Protocol": "HTTP", "ProtocolVersion": "HTTP3"`),
		"ValidationError: Protocol version 'HTTP3' must be one of 'HTTP1, HTTP2, GRPC'"},
	{"CreateTargetGroup", groupWith(`"Protocol": "TCP", "ProtocolVersion": "HTTP1"`), "InvalidConfigurationRequest: " +
		"Protocol version 'HTTP1' is not supported for target groups with the TCP protocol"},
	{"CreateTargetGroup", groupWith(`"Protocol": "HTTP", "Matcher": {"GrpcCode": "0"}`), "ValidationError: A GRPC code " +
		"can be specified only for target groups with the protocol version 'GRPC'"},
	{"CreateTargetGroup", groupWith(`"Protocol": "HTTP", "ProtocolVersion": "GRPC", "Matcher": {"HttpCode": "200"}`),
		"ValidationError: An HTTP code cannot be specified for target groups with the protocol version 'GRPC'"},
	{"CreateTargetGroup", groupWith(`"Protocol": "TCP", "HealthCheckPath": "/up"`),
		"InvalidConfigurationRequest: Health check paths are not supported for TCP health checks"},
	{"CreateTargetGroup", groupWith(`"Protocol": "TCP", "Matcher": {"HttpCode": "200"}`),
		"InvalidConfigurationRequest: Health check matchers are not supported for TCP health checks"},
	{"CreateTargetGroup", groupWith(`"Protocol": "TCP", "HealthCheckProtocol": "HTTP", "HealthCheckPath": "/up"`), ""},
	{"CreateTargetGroup", groupWith(`"Protocol": "HTTP", "HealthCheckIntervalSeconds": 5, "HealthCheckTimeoutSeconds": 5`),
		"ValidationError: Health check interval must be greater than the timeout."},
	{"CreateTargetGroup", groupWith(`"Protocol": "TLS", "HealthCheckIntervalSeconds": 5, "HealthCheckTimeoutSeconds": 6`),
		"ValidationError: Health check timeout '6' must be smaller than or equal to the interval '5'"},
	{"CreateTargetGroup", `{"Name": "equal", "Port": 80, "VpcId": "vpc-1", "Protocol": "TCP", ` +
		`"HealthCheckIntervalSeconds": 5, "HealthCheckTimeoutSeconds": 5}`, ""},
	{"CreateTargetGroup", `{"Name": "standard", "Port": 80, "VpcId": "vpc-1", "Protocol": "TCP", ` +
		`"HealthCheckIntervalSeconds": 10}`, ""},
	{"ModifyTargetGroup", `{"TargetGroupArn": "GROUP", "Matcher": {"GrpcCode": "0"}}`, "ValidationError: A GRPC code " +
		"can be specified only for target groups with the protocol version 'GRPC'"},

	{"ModifyTargetGroupAttributes", attribute("deregistration_delay.timeout_seconds", "3601"),
		"ValidationError: 'deregistration_delay.timeout_seconds' value '3601' must be between '0-3600' inclusive"},
	{"ModifyTargetGroupAttributes", attribute("deregistration_delay.timeout_seconds", "soon"),
		"ValidationError: 'deregistration_delay.timeout_seconds' value 'soon' must be between '0-3600' inclusive"},
	{"ModifyTargetGroupAttributes", attribute("stickiness.enabled", "yes"),
		"ValidationError: 'stickiness.enabled' value 'yes' must be one of 'true, false'"},
	{"ModifyTargetGroupAttributes", attribute("stickiness.type", "source_ip"), "InvalidConfigurationRequest: Stickiness " +
		"type 'source_ip' is not supported for target groups with the HTTP protocol"},
	{"ModifyTargetGroupAttributes", attribute("stickiness.app_cookie.cookie_name", "AWSALBAPP-1"),
		"ValidationError: Names of application cookies cannot begin with 'AWSALB': 'AWSALBAPP-1'"},
	{"ModifyTargetGroupAttributes", attribute("colour", "red"),
		"ValidationError: Target group attribute key 'colour' is not recognized"},
	{"ModifyTargetGroupAttributes", attribute("slow_start.duration_seconds", "0"), ""},
	{"ModifyLoadBalancerAttributes", `{"LoadBalancerArn": "BALANCER", "Attributes": [{"Key": "colour", "Value": "red"}]}`,
		"ValidationError: Load balancer attribute key 'colour' is not recognized"},
	{"ModifyListenerAttributes", `{"ListenerArn": "LISTENER", "Attributes": [{"Key": "colour", "Value": "red"}]}`,
		"ValidationError: Listener attribute key 'colour' is not recognized"},

	{"CreateListener", `{"LoadBalancerArn": "BALANCER", "Protocol": "HTTP", "DefaultActions": [{"Type": "forward",
		"TargetGroupArn": "GROUP"}]}`, "ValidationError: A listener port must be specified"},
	{"CreateListener", `{"LoadBalancerArn": "BALANCER", "Protocol": "HTTP", "Port": 81, "DefaultActions": [{"Type":
		"fixed-response", "FixedResponseConfig": {"StatusCode": "200", "ContentType": "application/xml"}}]}`,
		"InvalidLoadBalancerAction: The ContentType must be one of:'text/html', 'application/json', " +
			"'application/javascript', 'text/css', 'text/plain'"},

	{"CreateRule", ruleOn(`{"Field": "http-request-method", "Values": ["GET"]}`),
		"ValidationError: The 'Values' field is not compatible with 'http-request-method'"},
	{"CreateRule", ruleOn(`{"Field": "source-ip", "Values": ["10.0.0.0/8"]}`),
		"ValidationError: The 'Values' field is not compatible with 'source-ip'"},
	{"CreateRule", ruleOn(`{"Field": "http-request-method", "HttpRequestMethodConfig": {"Values": ["get"]}}`),
		"ValidationError: The 'http-request-method' value is invalid; the allowed characters are A-Z, hyphen and underscore"},
	{"CreateRule", ruleOn(`{"Field": "http-request-method", "HttpRequestMethodConfig": {"Values": ["` +
		strings.Repeat("G", 41) + `"]}}`),
		"ValidationError: The 'http-request-method' value is too long; the limit is '40'"},
	{"CreateRule", ruleOn(`{"Field": "http-header", "HttpHeaderConfig": {"HttpHeaderName": "` + strings.Repeat("x", 41) +
		`", "Values": ["y"]}}`), "ValidationError: The 'HttpHeaderName' value is too long; the limit is '40'"},
	{"CreateRule", ruleOn(`{"Field": "query-string", "QueryStringConfig": {"Values": [{"Key": "a"}]}}`),
		"ValidationError: A 'Value' must be specified in 'QueryStringKeyValuePair'"},
	{"CreateRule", ruleOn(`{"Field": "path-pattern", "Values": ["/a", "/b"]}`),
		"ValidationError: The 'path-pattern' field contains too many values; the limit is '1'"},
	{"CreateRule", ruleOn(`{"Field": "host-header", "Values": ["a.test", "b.test"]}`),
		"ValidationError: The 'host-header' field contains too many values; the limit is '1'"},
	{"CreateRule", ruleOn(`{"Field": "host-header"}`), "ValidationError: A condition value must be specified"},
	{"CreateRule", ruleOn(`{"Field": "path-pattern", "PathPatternConfig": {"Values": []}}`),
		"ValidationError: A condition value must be specified"},
	{"CreateRule", ruleOn(`{"Field": "http-request-method"}`),
		"ValidationError: A 'HttpRequestMethodConfig' must be specified with 'http-request-method'"},
	{"CreateRule", ruleOn(`{"Field": "source-ip"}`),
		"ValidationError: A 'SourceIpConfig' must be specified with 'source-ip'"},
	{"CreateRule", ruleOn(`{"Field": "source-ip", "SourceIpConfig": {"Values": []}}`),
		"ValidationError: A 'source-ip' value must be specified"},
	{"CreateRule", ruleOn(`{"Field": "query-string", "QueryStringConfig": {"Values": [{"Key": "` +
		strings.Repeat("k", 129) + `", "Value": "v"}]}}`),
		"ValidationError: The 'Key' value is too long; the limit is '128'"},
	{"CreateRule", ruleOn(`{"Field": "query-string", "QueryStringConfig": {"Values": [{"Key": "k", "Value": "` +
		strings.Repeat("v", 129) + `"}]}}`),
		"ValidationError: The 'Value' value is too long; the limit is '128'"},
	{"CreateRule", ruleOn(`{"Field": "path-pattern", "PathPatternConfig": {"Values": ["/*/*/*/*", "/?/?/?"]}}`),
		"ValidationError: A rule can only have '6' condition wildcards"},
	{"CreateRule", ruleOn(`{"Field": "path-pattern", "PathPatternConfig": {"Values": ["/*/*/*", "/?/?/?"]}}`), ""},
	{"ModifyRule", `{"RuleArn": "RULE"}`, "ValidationError: Either conditions or actions must be specified"},
	{"SetRulePriorities", `{"RulePriorities": [{"RuleArn": "RULE", "Priority": 30},
		{"RuleArn": "OTHER", "Priority": 30}]}`,
		"ValidationError: Priority '30' was provided multiple times"},
	{"SetRulePriorities", `{"RulePriorities": [{"RuleArn": "RULE", "Priority": 30}, {"RuleArn": "RULE", "Priority": 31}]}`,
		"ValidationError: Rule 'RULE' was provided multiple times"},
	{"SetRulePriorities", `{"RulePriorities": [{"RuleArn": "RULE", "Priority": 2}, {"RuleArn": "OTHER", "Priority": 1}]}`,
		""},
}

func TestCallsAreRefusedAsByAWS(t *testing.T) {
	b := newBench(t)
	lb, web := b.balancer("edge"), b.group("api")
	l := b.listen(lb, 80, to(web))
	names := strings.NewReplacer("BALANCER", lb, "GROUP", web, "LISTENER", l, "RULE", b.rule(l, 1, to(web)),
		"OTHER", b.rule(l, 2, to(web)))
	for _, c := range refusedCalls {
		if got, want := b.call(c.operation, names.Replace(c.input)), names.Replace(c.answer); got != want {
			t.Errorf("%s %s\n got  %s\n want %s", c.operation, c.input, got, want)
		}
	}
}

// The health check of a group for gRPC is for gRPC, and one for a function has no protocol and port.
func TestHealthChecksFitTheGroup(t *testing.T) {
	b := newBench(t)
	for name, input := range map[string]string{"grpc": groupWith(`"Protocol": "HTTP", "ProtocolVersion": "GRPC"`),
		"function": `{"Name": "web", "TargetType": "lambda"}`} {
		if got := b.call("CreateTargetGroup", strings.Replace(input, "web", name, 1)); got != "" {
			t.Fatal(got)
		}
	}
	grpc, function := b.groupNamed("grpc"), b.groupNamed("function")
	if m := grpc.Matcher; m.HttpCode != nil || *m.GrpcCode != "12" || *grpc.HealthCheckPath != "/AWS.ALB/healthcheck" {
		t.Errorf("%+v %+v", grpc, m)
	}
	if function.HealthCheckPort != nil || function.HealthCheckProtocol != "" {
		t.Errorf("%+v", function)
	}
}
