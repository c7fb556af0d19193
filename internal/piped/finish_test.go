package piped_test

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
)

// The last stage reads once more what serves, after its own work. If another revision serves, its
// log says so; the claim is released all the same.
func TestLastStageReportsThatAnotherRevisionServes(t *testing.T) {
	t.Parallel()
	for _, another := range []bool{false, true} {
		r := newRig(t, external+quick)
		d := r.usual()
		stages := d.forward()
		last := stages[len(stages)-1]
		for _, s := range stages[:len(stages)-1] {
			d.run(s)
		}
		r.piped.set(func() {
			r.piped.put = func(key, _ string) {
				if key != "progress" || !another {
					return
				}
				id := r.taskSet("web:1", 0, nil, "")
				got(r.ecs.UpdateServicePrimaryTaskSet(context.Background(),
					&awsecs.UpdateServicePrimaryTaskSetInput{Cluster: aws.String("prod"), Service: aws.String("web"),
						PrimaryTaskSet: aws.String(id)}))(r)
			}
		})
		d.run(last)
		log := r.piped.text(last.GetId())
		if strings.Contains(log, "web:1 is PRIMARY: another deployment replaced this one") != another {
			t.Errorf("another revision serves: %v; the log:\n%s", another, log)
		}
		r.free()
	}
}
