package stagetest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// CallersGet lets a minute pass, and returns what callers get in it: "v2 200", or "503" from the load balancer.
func (b *Bench) CallersGet() string {
	b.Helper()
	return b.CallersOf("/")
}

// CallersOf is CallersGet for callers of a path.
func (b *Bench) CallersOf(path string) string {
	b.Helper()
	return b.callersAt(80, path)
}

// CallersOfPort is CallersGet for callers of another listener.
func (b *Bench) CallersOfPort(port int32) string {
	b.Helper()
	return b.callersAt(port, "/")
}

func (b *Bench) callersAt(port int32, path string) string {
	b.Helper()
	b.attachCallers(port, path)
	Must(b, b.Clock.Sleep(context.Background(), time.Minute))
	var parts []string
	for _, l := range b.Tally.Report().Lines {
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %d", l.Version, l.Status)))
	}
	return strings.Join(parts, ", ")
}

// Respond makes the listener answer by itself, with a fixed response.
func (b *Bench) Respond() {
	b.Helper()
	Got(b.ELB.ModifyListener(context.Background(), &awselb.ModifyListenerInput{ListenerArn: aws.String(b.Listener),
		DefaultActions: []elbtypes.Action{Fixed("503")}}))(b)
}

// AddListener adds a listener with a default action to the load balancer.
func (b *Bench) AddListener(port int32, action elbtypes.Action) {
	b.Helper()
	Got(b.ELB.CreateListener(context.Background(), &awselb.CreateListenerInput{LoadBalancerArn: aws.String(b.Balancer),
		Port: aws.Int32(port), Protocol: elbtypes.ProtocolEnumHttp, DefaultActions: []elbtypes.Action{action}}))(b)
}

// ForwardTo is an action that forwards to one group.
func ForwardTo(group string) elbtypes.Action {
	return elbtypes.Action{Type: elbtypes.ActionTypeEnumForward, TargetGroupArn: aws.String(group)}
}

// DeleteListener deletes the listener.
func (b *Bench) DeleteListener() {
	b.Helper()
	Got(b.ELB.DeleteListener(context.Background(), &awselb.DeleteListenerInput{ListenerArn: aws.String(b.Listener)}))(b)
}

// AddRule adds a rule for a path to the listener, with the actions, and returns its ARN.
func (b *Bench) AddRule(priority int32, path string, actions ...elbtypes.Action) string {
	b.Helper()
	out := Got(b.ELB.CreateRule(context.Background(), &awselb.CreateRuleInput{ListenerArn: aws.String(b.Listener),
		Priority: aws.Int32(priority), Actions: actions, Conditions: PathCondition(path)}))(b)
	return *out.Rules[0].RuleArn
}

// PathCondition returns the conditions of a rule for a path.
func PathCondition(path string) []elbtypes.RuleCondition {
	return []elbtypes.RuleCondition{{Field: aws.String("path-pattern"), Values: []string{path}}}
}

// Fixed is an action that answers by itself.
func Fixed(status string) elbtypes.Action {
	return elbtypes.Action{Type: elbtypes.ActionTypeEnumFixedResponse,
		FixedResponseConfig: &elbtypes.FixedResponseActionConfig{StatusCode: aws.String(status)}}
}

// MoveListener gives the listener another port.
func (b *Bench) MoveListener(port int32) {
	b.Helper()
	Got(b.ELB.ModifyListener(context.Background(), &awselb.ModifyListenerInput{ListenerArn: aws.String(b.Listener),
		Port: aws.Int32(port)}))(b)
}
