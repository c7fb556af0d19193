package codedeploy

import (
	"context"

	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"

	"github.com/sluice-ecs/sluice/awssim/codedeployer"
	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// CreateApplication creates an application of the compute platform ECS.
func (s *Service) CreateApplication(ctx context.Context,
	in *awscd.CreateApplicationInput) (*awscd.CreateApplicationOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awscd.CreateApplicationOutput, error) {
		if err := checkName(in.ApplicationName, "Application"); err != nil {
			return nil, err
		}
		if in.ComputePlatform != cdtypes.ComputePlatformEcs {
			return nil, world.Refuse("InvalidComputePlatformException",
				"The compute platform %q is not simulated; there is ECS", in.ComputePlatform)
		}
		st := codedeployer.StateOf(tx)
		if _, ok := st.Applications.Get(*in.ApplicationName); ok {
			return nil, world.Refuse("ApplicationAlreadyExistsException", "Application already exists: %s",
				*in.ApplicationName)
		}
		if err := setTags(tx, arnOf(tx, *in.ApplicationName, ""), in.Tags); err != nil {
			return nil, err
		}
		doc := &cdtypes.ApplicationInfo{ApplicationId: ptr(tx.NewUUID("application")),
			ApplicationName: ptr(*in.ApplicationName),
			ComputePlatform: in.ComputePlatform, CreateTime: ptr(tx.Now())}
		st.Applications.Put(*in.ApplicationName, &codedeployer.Application{Name: *in.ApplicationName, Doc: doc})
		return &awscd.CreateApplicationOutput{ApplicationId: ptr(*doc.ApplicationId)}, nil
	})
}

// DeleteApplication deletes an application with its groups. A missing application is no error.
func (s *Service) DeleteApplication(ctx context.Context,
	in *awscd.DeleteApplicationInput) (*awscd.DeleteApplicationOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awscd.DeleteApplicationOutput, error) {
		if err := checkName(in.ApplicationName, "Application"); err != nil {
			return nil, err
		}
		st := codedeployer.StateOf(tx)
		if a, ok := st.Applications.Get(*in.ApplicationName); ok {
			a.Deleted = true
			st.Applications.Delete(a.Name)
			deleteTags(tx, arnOf(tx, a.Name, ""))
			for _, g := range a.Groups.Keys() {
				deleteTags(tx, arnOf(tx, a.Name, g))
			}
		}
		return &awscd.DeleteApplicationOutput{}, nil
	})
}

func showApplication(a *codedeployer.Application) *cdtypes.ApplicationInfo {
	return wire.Clone(a.Doc.(*cdtypes.ApplicationInfo))
}

// GetApplication returns one application.
func (s *Service) GetApplication(ctx context.Context, in *awscd.GetApplicationInput) (*awscd.GetApplicationOutput,
	error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awscd.GetApplicationOutput, error) {
		a, err := findApplication(tx, in.ApplicationName)
		if err != nil {
			return nil, err
		}
		return &awscd.GetApplicationOutput{Application: showApplication(a)}, nil
	})
}

// BatchGetApplications returns up to 100 applications. It fails if one of them does not exist.
func (s *Service) BatchGetApplications(ctx context.Context,
	in *awscd.BatchGetApplicationsInput) (*awscd.BatchGetApplicationsOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awscd.BatchGetApplicationsOutput, error) {
		if len(in.ApplicationNames) == 0 {
			return nil, world.Refuse("ApplicationNameRequiredException", "Application name is required")
		}
		if err := checkBatch(len(in.ApplicationNames), maxBatch); err != nil {
			return nil, err
		}
		out := &awscd.BatchGetApplicationsOutput{}
		for _, name := range in.ApplicationNames {
			a, err := findApplication(tx, &name)
			if err != nil {
				return nil, err
			}
			out.ApplicationsInfo = append(out.ApplicationsInfo, *showApplication(a))
		}
		return out, nil
	})
}

// ListApplications lists the names, 100 at a time.
func (s *Service) ListApplications(ctx context.Context, in *awscd.ListApplicationsInput) (*awscd.ListApplicationsOutput,
	error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awscd.ListApplicationsOutput, error) {
		names, next, err := pageOf(codedeployer.StateOf(tx).Applications.Keys(), in.NextToken)
		return &awscd.ListApplicationsOutput{Applications: names, NextToken: next}, err
	})
}
