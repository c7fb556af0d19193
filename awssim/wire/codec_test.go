package wire_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/document"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// filler puts a different value into every member of an SDK shape.
type filler struct{ n int }

func (f *filler) fill(v reflect.Value) {
	f.n++
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("t%d <&\"\\ é\u2028", f.n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64:
		v.SetInt(int64(f.n))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(f.n) + 0.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Slice:
		switch v.Type().Elem().Kind() {
		case reflect.Uint8:
			v.SetBytes([]byte{1, 2, byte(f.n)})
			return
		case reflect.Interface: // unions have a test of their own
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		f.fill(v.Index(0))
		f.fill(v.Index(1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 2 {
			k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.fill(k)
			f.fill(e)
			v.SetMapIndex(k, e)
		}
	case reflect.Struct:
		f.members(v)
	}
}

func (f *filler) members(v reflect.Value) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Unix(1_800_000_000+int64(f.n), 123e6).UTC()))
		return
	}
	for i := range v.NumField() {
		if t := v.Type().Field(i); t.IsExported() && t.Name != "ResultMetadata" {
			f.fill(v.Field(i))
		}
	}
}

func filled[T any](t *testing.T) *T {
	t.Helper()
	v := new(T)
	(&filler{}).fill(reflect.ValueOf(v).Elem())
	return v
}

// same reports where two shapes differ, so that a lost member is named.
func same(t *testing.T, path string, got, want reflect.Value) {
	t.Helper()
	switch want.Kind() {
	case reflect.Struct:
		if at, ok := want.Interface().(time.Time); ok {
			if !at.Equal(got.Interface().(time.Time)) {
				t.Errorf("%s arrived as %v, want %v", path, got, want)
			}
			return
		}
		for i := range want.NumField() {
			if f := want.Type().Field(i); f.IsExported() && f.Name != "ResultMetadata" {
				same(t, path+"."+f.Name, got.Field(i), want.Field(i))
			}
		}
		return
	case reflect.Slice:
		if got.Len() == want.Len() && got.IsNil() == want.IsNil() {
			for i := range want.Len() {
				same(t, fmt.Sprintf("%s[%d]", path, i), got.Index(i), want.Index(i))
			}
			return
		}
	case reflect.Pointer:
		if !got.IsNil() && !want.IsNil() {
			same(t, path, got.Elem(), want.Elem())
			return
		}
	}
	if !reflect.DeepEqual(got.Interface(), want.Interface()) {
		t.Errorf("%s arrived as %#v, want %#v", path, got, want)
	}
}

func equal(t *testing.T, got, want any) {
	t.Helper()
	same(t, reflect.TypeOf(want).Elem().Name(), reflect.ValueOf(got).Elem(), reflect.ValueOf(want).Elem())
}

func TestEveryMemberOfAServiceTravelsBothWays(t *testing.T) {
	s := newSite(t)
	in, out := filled[awsecs.CreateServiceInput](t), filled[awsecs.CreateServiceOutput](t)
	var got *awsecs.CreateServiceInput
	s.echo.createService = func(x *awsecs.CreateServiceInput) (*awsecs.CreateServiceOutput,
		error) {
		got = x
		return out, nil
	}
	answer, err := s.ecs().CreateService(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, got, in)
	equal(t, answer, out)
}

func TestEveryMemberOfATaskDefinitionTravelsBothWays(t *testing.T) {
	s := newSite(t)
	in, out := filled[awsecs.RegisterTaskDefinitionInput](t), filled[awsecs.RegisterTaskDefinitionOutput](t)
	var got *awsecs.RegisterTaskDefinitionInput
	s.echo.registered = func(x *awsecs.RegisterTaskDefinitionInput) (*awsecs.RegisterTaskDefinitionOutput, error) {
		got = x
		return out, nil
	}
	answer, err := s.ecs().RegisterTaskDefinition(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, got, in)
	equal(t, answer, out)
}

func TestEveryMemberOfARuleTravelsBothWays(t *testing.T) {
	s := newSite(t)
	in, out := filled[awselb.ModifyRuleInput](t), filled[awselb.ModifyRuleOutput](t)
	var got *awselb.ModifyRuleInput
	s.elb.modifyRule = func(x *awselb.ModifyRuleInput) (*awselb.ModifyRuleOutput, error) { got = x; return out, nil }
	answer, err := s.elbv2().ModifyRule(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, got, in)
	equal(t, answer, out)
}

func TestEveryMemberOfALoadBalancerTravels(t *testing.T) {
	s := newSite(t)
	out := filled[awselb.DescribeLoadBalancersOutput](t)
	s.elb.describe = func(*awselb.DescribeLoadBalancersInput) (*awselb.DescribeLoadBalancersOutput, error) {
		return out,
			nil
	}
	answer, err := s.elbv2().DescribeLoadBalancers(context.Background(), &awselb.DescribeLoadBalancersInput{})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, answer, out)
}

func TestScaleToZeroArrivesAsZeroPercent(t *testing.T) {
	s := newSite(t)
	s.echo.updateTaskSet = func(in *awsecs.UpdateTaskSetInput) (*awsecs.UpdateTaskSetOutput, error) {
		return &awsecs.UpdateTaskSetOutput{TaskSet: &ecstypes.TaskSet{Scale: in.Scale}}, nil
	}
	out, err := s.ecs().UpdateTaskSet(context.Background(), &awsecs.UpdateTaskSetInput{Cluster: aws.String("c"),
		Service: aws.String("s"),
		TaskSet: aws.String("t"), Scale: &ecstypes.Scale{Unit: ecstypes.ScaleUnitPercent}})
	if err != nil {
		t.Fatal(err)
	}
	if sc := out.TaskSet.Scale; sc == nil || sc.Value != 0 || sc.Unit != ecstypes.ScaleUnitPercent {
		t.Errorf("scale = %+v, want 0 PERCENT", sc)
	}
}

func TestAnEmptyListIsNotAnAbsentOne(t *testing.T) {
	for _, list := range [][]ecstypes.LoadBalancer{nil, {}} {
		s := newSite(t)
		var got *awsecs.UpdateServiceInput
		s.echo.updateService = func(in *awsecs.UpdateServiceInput) (*awsecs.UpdateServiceOutput, error) {
			got = in
			return &awsecs.UpdateServiceOutput{Service: &ecstypes.Service{LoadBalancers: in.LoadBalancers}}, nil
		}
		out, err := s.ecs().UpdateService(context.Background(), &awsecs.UpdateServiceInput{Service: aws.String("s"),
			LoadBalancers: list})
		if err != nil {
			t.Fatal(err)
		}
		if (got.LoadBalancers == nil) != (list == nil) || (out.Service.LoadBalancers == nil) != (list == nil) {
			t.Errorf("sent %#v, arrived %#v, came back %#v", list, got.LoadBalancers, out.Service.LoadBalancers)
		}
	}
}

func TestUnionsAndDocumentsTravel(t *testing.T) {
	s := newSite(t)
	s.echo.createService = func(in *awsecs.CreateServiceInput) (*awsecs.CreateServiceOutput, error) {
		return &awsecs.CreateServiceOutput{Service: &ecstypes.Service{Deployments: []ecstypes.Deployment{
			{ServiceConnectConfiguration: in.ServiceConnectConfiguration}},
			DeploymentConfiguration: in.DeploymentConfiguration}}, nil
	}
	level := &ecstypes.ServiceConnectContainerConfigurationMemberLogLevel{Value: "debug"}
	in := &awsecs.CreateServiceInput{ServiceName: aws.String("s"),
		ServiceConnectConfiguration: &ecstypes.ServiceConnectConfiguration{Enabled: true,
			ContainerConfigurations: []ecstypes.ServiceConnectContainerConfiguration{level}},
		DeploymentConfiguration: &ecstypes.DeploymentConfiguration{LifecycleHooks: []ecstypes.DeploymentLifecycleHook{
			{HookDetails: document.NewLazyDocument(map[string]any{"a": []any{1, 2.5, "x", true}})}}}}
	out, err := s.ecs().CreateService(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	if c := out.Service.Deployments[0].ServiceConnectConfiguration.ContainerConfigurations; len(c) != 1 ||
		!reflect.DeepEqual(c[0], level) {
		t.Errorf("union came back as %#v", c)
	}
	var back map[string][]any
	if err := out.Service.DeploymentConfiguration.LifecycleHooks[0].HookDetails.UnmarshalSmithyDocument(
		&back); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(back["a"]); got != "[1 2.5 x true]" {
		t.Errorf("document came back as %s", got)
	}
}

func TestZeroWeightsTravel(t *testing.T) {
	s := newSite(t)
	s.elb.modifyRule = func(in *awselb.ModifyRuleInput) (*awselb.ModifyRuleOutput, error) {
		return &awselb.ModifyRuleOutput{Rules: []elbtypes.Rule{{Actions: in.Actions, Conditions: in.Conditions}}}, nil
	}
	out, err := s.elbv2().ModifyRule(context.Background(), &awselb.ModifyRuleInput{RuleArn: aws.String("r"),
		Conditions: []elbtypes.RuleCondition{},
		Actions: []elbtypes.Action{{Type: "forward",
			ForwardConfig: &elbtypes.ForwardActionConfig{TargetGroups: []elbtypes.TargetGroupTuple{
				{TargetGroupArn: aws.String("a"), Weight: aws.Int32(100)},
				{TargetGroupArn: aws.String("b"), Weight: aws.Int32(0)}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	g := out.Rules[0].Actions[0].ForwardConfig.TargetGroups
	if len(g) != 2 || *g[0].Weight != 100 || g[1].Weight == nil || *g[1].Weight != 0 {
		t.Errorf("groups came back as %+v", g)
	}
	if out.Rules[0].Conditions == nil {
		t.Error("an empty list of conditions came back as none")
	}
}
