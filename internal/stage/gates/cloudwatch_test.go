package gates_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/stage"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// CloudWatch publishes a minute some minutes after its end. A threshold on a metric of CloudWatch still sees each
// minute once.
func TestThresholdOnCloudWatch(t *testing.T) {
	for image, want := range map[string]sluice.Outcome{"sim/web:v2?errors=30%": sluice.RolledBack, "sim/web:v2?errors=1%": sluice.Succeeded} {
		t.Run(image, func(t *testing.T) {
			stagetest.RunPlain(t, func(b *stagetest.Bench) {
				b.Engine.OutsideAWS = &stage.OutsideAWS{HTTP: http.DefaultClient, Secret: secretOfTheTest}
				balancer := strings.Join(strings.Split(b.Listener, "/")[1:4], "/")
				end := deploy(b, image, judged(analysisStage(`duration: 10m, metrics: [{provider: cw, name: failures, expected: {max: 100}, skipOnNoData: true, `+
					`query: "AWS/ApplicationELB HTTPCode_Target_5XX_Count Sum LoadBalancer=`+balancer+`"}]`))+
					"analysisProviders: [{name: cw, type: CLOUDWATCH}]\n")
				if end.Outcome != want {
					b.Fatalf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
				}
			})
		})
	}
}
