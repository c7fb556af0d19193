package watch_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/watch"
)

func TestProblemsOfNames(t *testing.T) {
	const here, there = "arn:aws:ecs:us-east-1:123456789012:", "arn:aws:ecs:eu-west-1:123456789012:"
	for _, c := range []struct {
		in   watch.Request
		want string
	}{
		{watch.Request{Service: "web"}, ""},
		{watch.Request{Deployment: "d-ABCDEF123"}, ""},
		{watch.Request{Cluster: here + "cluster/prod", Service: here + "service/prod/web", Region: "us-east-1",
			TaskDefinition: here + "task-definition/web:1", Deployment: "ecs-svc/0123456789"}, ""},
		{watch.Request{Service: here + "service/web", Deployment: "abcdefghijklmnopqrstu", TaskDefinition: "web"}, ""},
		{watch.Request{Service: here + "service/default/web",
			Deployment: here + "service-deployment/default/web/abcdefghijklmnop"}, ""},
		{watch.Request{Service: here + "service/prod/web"}, "service is a service of cluster prod, not of default"},
		{watch.Request{Cluster: "prod", Service: there + "service/prod/web", Region: "us-east-1"},
			"service is an ARN of Region eu-west-1, not of us-east-1"},
		{watch.Request{Cluster: there + "cluster/prod", Service: here + "service/prod/web"},
			"service is an ARN of Region us-east-1, not of eu-west-1"},
		{watch.Request{Cluster: "a/b", Service: "web\x1b[2J", TaskDefinition: ":1", Deployment: "latest"},
			"cluster is not the name or ARN of a cluster\nservice is not the name or ARN of a service\n" +
				"task definition is not family:revision or the ARN of a task definition\n" +
				"deployment is not the ARN or ID of a service deployment, ecs-svc/<number> or d-XXXXXXXXX"},
		{watch.Request{Service: here + "cluster/web", TaskDefinition: here + "task-definition"},
			"service is not the name or ARN of a service\n" +
				"task definition is not family:revision or the ARN of a task definition"},
	} {
		var lines []string
		for _, p := range c.in.Problems() {
			lines = append(lines, string(p.Part)+" "+p.Text)
		}
		if text := strings.Join(lines, "\n"); text != c.want {
			t.Errorf("%+v:\n%s\nwant\n%s", c.in, text, c.want)
		}
	}
}

// An ARN of another Region or account does not name the service of the same name here.
func TestServiceOfAnotherPlaceIsNotRead(t *testing.T) {
	on(t, options{}, func(b *bench) {
		b.serve("web", b.revision("sim/web:v1"), rolling{desired: 1})
		for _, c := range []struct{ region, account, want string }{
			{"us-east-1", "123456789012", ""},
			{"eu-west-1", "123456789012", "is an ARN of Region eu-west-1, not of us-east-1"},
			{"us-east-1", "000000000000", "the ARN is of another account than the service that is read: 123456789012"},
		} {
			arn := fmt.Sprintf("arn:aws:ecs:%s:%s:service/prod/web", c.region, c.account)
			_, err := b.watch.Wait(context.Background(), watch.Target{Cluster: "prod", Service: arn,
				Wanted: verdict.Wanted{Revision: "web:1"}}, nil)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) ||
				sluice.NextStep(err) == "") {
				t.Errorf("%s: %v, want %q", arn, err, c.want)
			}
		}
	})
}
