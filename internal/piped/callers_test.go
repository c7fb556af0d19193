package piped_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/piped/contract"
)

const callersListener = "arn:aws:elasticloadbalancing:us-east-1:123456789012:listener/app/web/0123456789abcdef/0123456789abcdef"

// answerCallers sets the action by which callers reach the service.
func (s *stand) answerCallers(action elbtypes.Action) {
	s.Helper()
	got(s.elb.ModifyListener(context.Background(), &awselb.ModifyListenerInput{
		ListenerArn: aws.String(callersListener), DefaultActions: []elbtypes.Action{action}}))(s)
}

// weigh is the action that forwards to the two groups.
func weigh(primary, canary int32) elbtypes.Action {
	tuple := func(name string, weight int32) elbtypes.TargetGroupTuple {
		return elbtypes.TargetGroupTuple{TargetGroupArn: aws.String(group + name), Weight: aws.Int32(weight)}
	}
	return elbtypes.Action{Type: elbtypes.ActionTypeEnumForward,
		ForwardConfig: &elbtypes.ForwardActionConfig{TargetGroups: []elbtypes.TargetGroupTuple{
			tuple("web-primary/0123456789abcdef", primary), tuple("web-canary/fedcba9876543210", canary)}}}
}

// The last stage and the rollback of a deployment fail if callers do not get the version, because another process or
// person has changed the rule. The log has the cause and the next step.
func TestLastStageFailsIfCallersDoNotReachTheVersion(t *testing.T) {
	t.Parallel()
	respond := elbtypes.Action{Type: elbtypes.ActionTypeEnumFixedResponse,
		FixedResponseConfig: &elbtypes.FixedResponseActionConfig{StatusCode: aws.String("503")}}
	for name, c := range map[string]struct {
		action elbtypes.Action
		cause  string // of the failure; empty: the stage succeeds
		runs   string // after the rollback
	}{
		"no weight":                 {weigh(0, 0), "gives weight to no target group: callers get 503", "sim/web:v1"},
		"weight on the empty group": {weigh(0, 100), "forwards to web-primary 0, web-canary 100", "sim/web:v1"},
		// AWS refuses an update of a service whose target group has no load balancer
		"fixed response": {respond, "its action is fixed-response", "sim/web:v2"},
		"as before":      {weigh(100, 0), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := clock.NewVirtual(dawn())
			v.Run(func() {
				s := course{world: rolling}.lay(t, v)
				s.born()
				s.rig.piped.put = func(key, _ string) {
					if key == "progress" { // the stage's own work is done
						s.answerCallers(c.action)
					}
				}
				app := source{app: appFile(""), service: rollingFile}
				was := app
				was.image = "sim/web:v1"
				d := s.begin(was, app)
				s.endsWith(d, d.Stages[0], c.cause)
				if c.cause == "" {
					return
				}
				s.endsWith(d, d.back(), c.cause) // callers do not get the former version either
				if stands := s.stands(); !strings.Contains(stands, c.runs) || strings.Contains(stands, "sluice:deployment") {
					t.Errorf("the rollback left %s", stands)
				}
			})
		})
	}
}

// endsWith runs a stage, and wants it to succeed or to fail with a cause and a next step.
func (s *stand) endsWith(d *deployment, st *contract.PipelineStage, cause string) {
	s.Helper()
	want := contract.StageStatus_STAGE_FAILURE
	if cause == "" {
		want = contract.StageStatus_STAGE_SUCCESS
	}
	status, err := d.execute(context.Background(), st)
	_ = s.time.Sleep(context.Background(), time.Second)
	log := s.rig.piped.text(st.GetId())
	if err != nil || status != want || !strings.Contains(log, cause) ||
		strings.Contains(log, "\nnext: ") != (cause != "") {
		s.Errorf("%s: %s %v, want %s with %q and a next step\n%s", st.GetName(), status, err, want, cause, log)
	}
}
