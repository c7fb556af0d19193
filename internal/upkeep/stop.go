package upkeep

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
)

// StopTask stops a task of the service's cluster.
func StopTask(ctx context.Context, s ecs.Service, act sluice.Act, id, reason string) error {
	w := sluice.Write{Operation: "ecs:StopTask", Resource: sluice.ARNName(s.Cluster) + "/" + id}
	return act(ctx, sluice.Attempt{Action: "stop task " + id, Planned: w, Actual: w},
		func(ctx context.Context) (string, error) {
			_, err := s.API.StopTask(ctx, &awsecs.StopTaskInput{Cluster: aws.String(s.Cluster), Task: aws.String(id),
				Reason: aws.String(reason)})
			return "STOPPED requested", err
		})
}

// DeleteService deletes a service. ECS refuses a service with a desired count above 0, unless force is set: then it stops
// its tasks. After a lost response it reads the service, because the name may belong to a new one by then.
func DeleteService(ctx context.Context, s ecs.Service, act sluice.Act, arn string, force bool) error {
	w := sluice.Write{Operation: "ecs:DeleteService", Resource: s.Resource()}
	return act(ctx, sluice.Attempt{Action: "delete the service", Planned: w, Actual: w},
		func(ctx context.Context) (string, error) {
			for attempt := 1; ; attempt++ {
				_, err := s.API.DeleteService(ctx, &awsecs.DeleteServiceInput{Cluster: aws.String(s.Cluster),
					Service: aws.String(s.Name), Force: aws.Bool(force)})
				switch {
				case err == nil:
					return "DRAINING", nil
				case ecs.IsDeleted(err):
					return "already deleted", nil
				case !errors.Is(err, sluice.ErrUnanswered) || attempt == ecs.MaxTries:
					return "", err
				}
				now, err := s.Observe(ctx)
				if err != nil {
					return "", err
				}
				if !now.IsActive() || now.ARN != arn {
					return "DRAINING" + ecs.ByRead, nil
				}
			}
		})
}
