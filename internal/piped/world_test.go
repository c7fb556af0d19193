package piped_test

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

const (
	listenerARN = "arn:aws:elasticloadbalancing:us-east-1:123456789012:listener/app/web/0123456789abcdef/0123456789abcdef"
	primaryARN  = group + "web-primary/0123456789abcdef"
	canaryARN   = group + "web-canary/fedcba9876543210"
)

// service is the service web as AWS shows it; zero if there is none.
func (r *rig) service() ecstypes.Service {
	r.Helper()
	return r.serviceOf("web")
}

func (r *rig) serviceOf(name string) ecstypes.Service {
	r.Helper()
	out := got(r.ecs.DescribeServices(context.Background(), &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
		Services: []string{name},
		Include:  []ecstypes.ServiceField{ecstypes.ServiceFieldTags}}))(r)
	if len(out.Services) == 0 {
		return ecstypes.Service{}
	}
	return out.Services[0]
}

// tag tags the service, as somebody else would.
func (r *rig) tag(key, value string) {
	r.Helper()
	got(r.ecs.TagResource(context.Background(), &awsecs.TagResourceInput{ResourceArn: r.service().ServiceArn,
		Tags: []ecstypes.Tag{{Key: aws.String(key), Value: aws.String(value)}}}))(r)
}

// definitions are the ACTIVE revisions of the family web.
func (r *rig) definitions() []string {
	r.Helper()
	return got(r.ecs.ListTaskDefinitions(context.Background(),
		&awsecs.ListTaskDefinitionsInput{FamilyPrefix: aws.String("web")}))(r).TaskDefinitionArns
}

// taskSet makes a task set as another tool would.
func (r *rig) taskSet(definition string, percent float64, tags map[string]string, groupARN string) string {
	r.Helper()
	in := &awsecs.CreateTaskSetInput{Cluster: aws.String("prod"), Service: aws.String("web"),
		TaskDefinition: aws.String(definition),
		LaunchType:     ecstypes.LaunchTypeFargate, Scale: &ecstypes.Scale{Unit: ecstypes.ScaleUnitPercent,
			Value: percent},
		NetworkConfiguration: &ecstypes.NetworkConfiguration{AwsvpcConfiguration: &ecstypes.AwsVpcConfiguration{Subnets: []string{"subnet-0123456789abcdef0"}}},
	}
	if groupARN != "" {
		in.LoadBalancers = []ecstypes.LoadBalancer{{TargetGroupArn: aws.String(groupARN),
			ContainerName: aws.String("web"), ContainerPort: aws.Int32(80)}}
	}
	for k, v := range tags {
		in.Tags = append(in.Tags, ecstypes.Tag{Key: aws.String(k), Value: aws.String(v)})
	}
	return *got(r.ecs.CreateTaskSet(context.Background(), in))(r).TaskSet.Id
}

// rule adds a rule to the listener.
func (r *rig) rule(priority int32, path string, action elbtypes.Action) string {
	r.Helper()
	return *got(r.elb.CreateRule(context.Background(), &awselb.CreateRuleInput{ListenerArn: aws.String(listenerARN),
		Priority: aws.Int32(priority),
		Actions:  []elbtypes.Action{action},
		Conditions: []elbtypes.RuleCondition{{Field: aws.String("path-pattern"),
			Values: []string{path}}}}))(r).Rules[0].RuleArn
}

func (r *rig) actions(rule string) []elbtypes.Action {
	r.Helper()
	return got(r.elb.DescribeRules(context.Background(),
		&awselb.DescribeRulesInput{RuleArns: []string{rule}}))(r).Rules[0].Actions
}

func both(primary, canary int32, sticky bool) elbtypes.Action {
	f := &elbtypes.ForwardActionConfig{TargetGroups: []elbtypes.TargetGroupTuple{
		{TargetGroupArn: aws.String(primaryARN), Weight: aws.Int32(primary)},
		{TargetGroupArn: aws.String(canaryARN), Weight: aws.Int32(canary)}}}
	if sticky {
		f.TargetGroupStickinessConfig = &elbtypes.TargetGroupStickinessConfig{Enabled: aws.Bool(true),
			DurationSeconds: aws.Int32(300)}
	}
	return elbtypes.Action{Type: elbtypes.ActionTypeEnumForward, ForwardConfig: f}
}

// through puts somebody between the plugin and AWS, who is told the operation of each
// request by its name in policies. pass hands the request on and returns the answer;
// no answer cuts the connection.
func (r *rig) through(answer func(call string, pass func() http.Handler) http.Handler) {
	r.Helper()
	proxy := httputil.NewSingleHostReverseProxy(got(url.Parse(r.url))(r))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		h := answer(action(q, body), func() http.Handler {
			q.Body = io.NopCloser(bytes.NewReader(body))
			kept := httptest.NewRecorder()
			proxy.ServeHTTP(kept, q.WithContext(context.WithoutCancel(q.Context())))
			return replay{kept}
		})
		if h == nil {
			panic(http.ErrAbortHandler)
		}
		h.ServeHTTP(w, q)
	}))
	r.Cleanup(s.Close)
	r.url = s.URL
	r.restart()
}

// replay gives an answer that was kept.
type replay struct{ kept *httptest.ResponseRecorder }

func (a replay) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	maps.Copy(w.Header(), a.kept.Header())
	w.WriteHeader(a.kept.Code)
	_, _ = w.Write(a.kept.Body.Bytes())
}

// counted puts a counter between the plugin and AWS, and returns how often each
// operation was called.
func (r *rig) counted() func() map[string]int {
	r.Helper()
	var mu sync.Mutex
	count := map[string]int{}
	r.through(func(call string, pass func() http.Handler) http.Handler {
		mu.Lock()
		count[call]++
		mu.Unlock()
		return pass()
	})
	return func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		return maps.Clone(count)
	}
}

// action is the operation of a request as policies call it: the service that it is
// signed for, and its name.
func action(q *http.Request, body []byte) string {
	scope := strings.Split(q.Header.Get("Authorization"), "/")
	if len(scope) < 4 {
		return ""
	}
	_, name, ok := strings.Cut(q.Header.Get("X-Amz-Target"), ".")
	if !ok {
		form, _ := url.ParseQuery(string(body))
		name = form.Get("Action")
	}
	return scope[3] + ":" + name
}

// pass lets time pass on the world's clock.
func (r *rig) pass(text string) {
	r.Helper()
	d := got(time.ParseDuration(text))(r)
	end := r.sim.View().Now.Add(d)
	endWithServer(r, text+" to pass", func() bool { return r.sim.View().Now.After(end) })
}
