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
	b.AttachCallers()
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
		DefaultActions: []elbtypes.Action{{Type: elbtypes.ActionTypeEnumFixedResponse,
			FixedResponseConfig: &elbtypes.FixedResponseActionConfig{StatusCode: aws.String("503")}}}}))(b)
}

// DeleteListener deletes the listener.
func (b *Bench) DeleteListener() {
	b.Helper()
	Got(b.ELB.DeleteListener(context.Background(), &awselb.DeleteListenerInput{ListenerArn: aws.String(b.Listener)}))(b)
}
