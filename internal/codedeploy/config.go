package codedeploy

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"
)

// predefined is how the names of AWS's own deployment configurations for ECS begin.
const predefined = "CodeDeployDefault.ECS"

// FindConfig finds a deployment configuration for ECS by its name. The error is of kind NotFound if there is none.
func (h Client) FindConfig(ctx context.Context, name string) error {
	out, err := h.API.GetDeploymentConfig(ctx, &awscd.GetDeploymentConfigInput{DeploymentConfigName: aws.String(name)})
	var missing *cdtypes.DeploymentConfigDoesNotExistException
	var invalid *cdtypes.InvalidDeploymentConfigNameException
	why := "CodeDeploy has no such configuration in this account and Region"
	switch {
	case err == nil && out.DeploymentConfigInfo.ComputePlatform == cdtypes.ComputePlatformEcs:
		return nil
	case err == nil:
		why = fmt.Sprintf("the configuration is for compute platform %s, and not for ECS",
			out.DeploymentConfigInfo.ComputePlatform)
	case !errors.As(err, &missing) && !errors.As(err, &invalid):
		return err
	}
	names, _ := h.listConfigs(ctx) // a denial only leaves the names out
	return missingName("find deployment configuration", name, name, "deploymentConfigName", why, names,
		"correct codedeploy.deploymentConfigName, or leave it out for that of the deployment group")
}

// listConfigs returns the names of the configurations, without those of AWS for other platforms.
func (h Client) listConfigs(ctx context.Context) (all []string, err error) {
	in := &awscd.ListDeploymentConfigsInput{}
	for {
		out, err := h.API.ListDeploymentConfigs(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, name := range out.DeploymentConfigsList {
			if strings.HasPrefix(name, predefined) || !strings.HasPrefix(name, "CodeDeployDefault.") {
				all = append(all, name)
			}
		}
		if in.NextToken = out.NextToken; aws.ToString(in.NextToken) == "" {
			return all, nil
		}
	}
}
