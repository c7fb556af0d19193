package verify

import (
	"context"

	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// checkLogRegions doubts Regions of logs that are probably misspelt: tasks would not start.
func (c *checker) checkLogRegions(context.Context) {
	for _, g := range definition.LogGroups(c.task.ContainerDefinitions, c.aws.Region) {
		near := account.NearRegion(g.Region)
		if near == "" {
			continue
		}
		c.at(g.Region, "awslogs-region")
		c.warn("log group "+g.Name, g.Region+" is not a Region that sluice knows, and tasks whose log it is do not start",
			"correct the Region's name: "+near+" exists")
	}
}

// checkLogGroups requires the log groups, without which tasks do not start.
func (c *checker) checkLogGroups(ctx context.Context) {
	for _, g := range definition.LogGroups(c.task.ContainerDefinitions, c.aws.Region) {
		if account.NearRegion(g.Region) != "" {
			continue // checkLogRegions tells it
		}
		c.checkLogGroup(ctx, g)
	}
}

func (c *checker) checkLogGroup(ctx context.Context, g definition.LogGroup) {
	subject := "log group " + g.Name
	c.at(g.Name, "awslogs-group")
	found, err := c.aws.Existing.HasLogGroup(ctx, g.Name, g.Region)
	switch {
	case !c.judge(subject, err, "it does not exist", ""):
	case found:
		c.ok(subject, "")
	case g.IsCreated:
		c.ok(subject, "the first task creates it, with logs:CreateLogGroup of the execution role")
	default:
		c.fail(subject, "it does not exist in "+g.Region,
			"create it: aws logs create-log-group --region "+g.Region+" --log-group-name "+g.Name)
	}
}

// checkEnvironmentFiles requires the environment files, which are objects of S3.
func (c *checker) checkEnvironmentFiles(ctx context.Context) {
	for _, name := range EnvironmentFiles(c.task.ContainerDefinitions) {
		subject := "environment file " + name
		c.at(name)
		bucket, key, ok := ObjectOf(name)
		if !ok {
			c.fail(subject, "it is not the ARN of an object of S3", "write it as arn:aws:s3:::bucket/key.env")
			continue
		}
		err := c.aws.Read.FindObject(ctx, bucket, key)
		if c.judge(subject, err, "the object does not exist", "create it: aws s3 cp FILE s3://"+bucket+"/"+key) {
			c.ok(subject, "")
		}
	}
}
