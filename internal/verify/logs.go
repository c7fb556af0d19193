package verify

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

// LogGroup is a log group that containers write to.
type LogGroup struct {
	Name, Region string
	IsCreated    bool // by the first task, if it does not exist
}

// LogGroups returns the log groups of the containers with log driver awslogs, by name and Region.
func LogGroups(definitions []ecstypes.ContainerDefinition, region string) (all []LogGroup) {
	for _, d := range definitions {
		l := d.LogConfiguration
		if l == nil || l.LogDriver != ecstypes.LogDriverAwslogs || l.Options["awslogs-group"] == "" {
			continue
		}
		g := LogGroup{Name: l.Options["awslogs-group"], Region: cmp.Or(l.Options["awslogs-region"], region),
			IsCreated: strings.EqualFold(l.Options["awslogs-create-group"], "true")}
		if !slices.Contains(all, g) {
			all = append(all, g)
		}
	}
	return all
}

// checkLogGroups requires the log groups, without which tasks do not start.
func (c *checker) checkLogGroups(ctx context.Context) {
	for _, g := range LogGroups(c.task.ContainerDefinitions, c.aws.Region) {
		subject := "log group " + g.Name
		found, err := c.aws.Existing.HasLogGroup(ctx, g.Name, g.Region)
		if !c.judge(subject, err, "it does not exist", "") {
			continue
		}
		switch {
		case found:
			c.ok(subject, "")
		case g.IsCreated:
			c.ok(subject, "the first task creates it, with logs:CreateLogGroup of the execution role")
		default:
			c.fail(subject, "it does not exist in "+g.Region,
				"create it: aws logs create-log-group --region "+g.Region+" --log-group-name "+g.Name)
		}
	}
}

// checkEnvironmentFiles requires the environment files, which are objects of S3.
func (c *checker) checkEnvironmentFiles(ctx context.Context) {
	names := map[string]bool{}
	c.containers(func(d ecstypes.ContainerDefinition) {
		for _, f := range d.EnvironmentFiles {
			names[aws.ToString(f.Value)] = true
		}
	})
	for _, name := range slices.Sorted(maps.Keys(names)) {
		subject := "environment file " + name
		a, err := parseARN(name)
		bucket, key, _ := strings.Cut(a.resource, "/")
		if err != nil || a.service != "s3" || key == "" {
			c.fail(subject, "it is not the ARN of an object of S3", "write it as arn:aws:s3:::bucket/key.env")
			continue
		}
		err = c.aws.Read.FindObject(ctx, bucket, key)
		if c.judge(subject, err, "the object does not exist", "create it: aws s3 cp FILE s3://"+bucket+"/"+key) {
			c.ok(subject, "")
		}
	}
}
