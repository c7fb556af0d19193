package piped_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	awsaas "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	aastypes "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling/types"
)

// autoscaled is a service of which somebody suspended a part on purpose.
const autoscaled = external + `
scalableTargets:
  - {service: web, min: 2, max: 6, suspended: [scheduled]}
`

// suspending is an application that asks for the suspension.
func suspending() source {
	return source{app: strings.Replace(appFile(pipeline), "      input:\n",
		"      input:\n        suspendAutoScaling: true\n", 1)}
}

// targets are the scalable targets as AWS describes them.
func (r *rig) targets() string {
	r.Helper()
	out := got(awsaas.NewFromConfig(r.sim.Config()).DescribeScalableTargets(context.Background(),
		&awsaas.DescribeScalableTargetsInput{ServiceNamespace: aastypes.ServiceNamespaceEcs}))(r)
	return string(got(json.Marshal(out.ScalableTargets))(r))
}

// Auto scaling is suspended from the first stage to the last, other plugins' stages
// between them included, and given back as it was.
func TestScalingIsSuspendedAcrossStagesAndRestored(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(d *deployment, each func()){
		"pipeline": func(d *deployment, each func()) {
			stages := d.forward()
			for _, s := range stages[:len(stages)-1] {
				d.run(s)
				each()
			}
			d.run(stages[len(stages)-1])
		},
		"rollback": func(d *deployment, each func()) {
			for _, s := range d.forward()[:3] {
				d.run(s)
				each()
			}
			d.run(d.back())
		},
		"killed": func(d *deployment, each func()) {
			k := d.rig.killer(1)
			for i, s := range d.forward() {
				d.rig.onLine(s.GetId(), "application-autoscaling:", func(line string) { k.told(line) })
				d.insist(s)
				if i == 0 {
					each()
				}
			}
			if k.kills != 2 {
				d.rig.Errorf("%d kills, not one after each of two writes", k.kills)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, autoscaled+quick)
			was := r.targets()
			running := suspending()
			running.image = "sim/web:v1"
			run(r.begin(running, suspending(), stagesOf()...), func() {
				if now := r.targets(); strings.Count(now, `Suspended":true`) != 3 {
					t.Errorf("between stages: %s", now)
				}
			})
			if now := r.targets(); now != was {
				t.Errorf("auto scaling is %s\nit was %s", now, was)
			}
			r.free()
			if tag, left := r.tags()["sluice:auto-scaling"]; left {
				t.Errorf("the note is left: %s", tag)
			}
		})
	}
}
