package ecs

import (
	"context"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// DiscoverPollEndpoint returns the endpoints to which a container agent connects. Here nothing listens
// on them: container instances have no agent.
func (s *Service) DiscoverPollEndpoint(ctx context.Context,
	in *awsecs.DiscoverPollEndpointInput) (*awsecs.DiscoverPollEndpointOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.DiscoverPollEndpointOutput, error) {
		if val(in.Cluster) != "" {
			if _, err := clusterOf(tx, in.Cluster); err != nil {
				return nil, err
			}
		}
		host := tx.Key.Region + "." + tx.Key.DNSSuffix() + "/"
		return &awsecs.DiscoverPollEndpointOutput{
			Endpoint:               ptr("https://ecs-a-1." + host),
			TelemetryEndpoint:      ptr("https://ecs-t-1." + host),
			ServiceConnectEndpoint: ptr("https://ecs-sc-1." + host),
		}, nil
	})
}
