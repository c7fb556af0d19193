package servicediscovery

import (
	"context"
	"maps"

	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"
	sdtypes "github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// GetServiceAttributes returns the attributes of a service itself.
func (s *Service) GetServiceAttributes(ctx context.Context,
	in *awssd.GetServiceAttributesInput) (*awssd.GetServiceAttributesOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awssd.GetServiceAttributesOutput, error) {
		r, err := serviceOf(tx, in.ServiceId)
		if err != nil {
			return nil, err
		}
		a := maps.Clone(docOfService(r).attributes)
		if a == nil {
			a = map[string]string{}
		}
		return &awssd.GetServiceAttributesOutput{ServiceAttributes: &sdtypes.ServiceAttributes{
			ServiceArn: ptr(r.ARN), Attributes: a, ResourceOwner: ptr(tx.Key.Account)}}, nil
	})
}

// UpdateServiceAttributes adds attributes to a service, or changes their values.
func (s *Service) UpdateServiceAttributes(ctx context.Context,
	in *awssd.UpdateServiceAttributesInput) (*awssd.UpdateServiceAttributesOutput, error) {
	err := s.changeAttributes(ctx, in.ServiceId, func(a map[string]string) { maps.Copy(a, in.Attributes) })
	return &awssd.UpdateServiceAttributesOutput{}, err
}

// DeleteServiceAttributes removes attributes from a service.
func (s *Service) DeleteServiceAttributes(ctx context.Context,
	in *awssd.DeleteServiceAttributesInput) (*awssd.DeleteServiceAttributesOutput, error) {
	err := s.changeAttributes(ctx, in.ServiceId, func(a map[string]string) {
		for _, k := range in.Attributes {
			delete(a, k)
		}
	})
	return &awssd.DeleteServiceAttributesOutput{}, err
}

func (s *Service) changeAttributes(ctx context.Context, id *string, change func(map[string]string)) error {
	_, err := runStep(ctx, s, func(tx *world.Tx) (struct{}, error) {
		r, err := serviceOf(tx, id)
		if err != nil {
			return struct{}{}, err
		}
		a := maps.Clone(docOfService(r).attributes)
		if a == nil {
			a = map[string]string{}
		}
		change(a)
		if len(a) > maxAttributes {
			return struct{}{}, world.Refuse("ServiceAttributesLimitExceededException",
				"The attribute can't be added to the service because you've exceeded the quota of %d.", maxAttributes)
		}
		docOfService(r).attributes = a
		return struct{}{}, nil
	})
	return err
}
