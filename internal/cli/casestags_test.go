package cli

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

// Tags of the task definition are shown, written and compared. A tag that another person added to the running revision
// stays on the next one, with a note.
func TestPlanComparesTagsOfTheTaskDefinition(t *testing.T) {
	noMachine(t)
	playCase(t, "07-tags-of-the-task-definition", nil, func(b *caseBench) {
		b.expect("plan", 0, "+ tags[team]: {key: team, value: b}", "ecs:RegisterTaskDefinition web", "!No changes.")
		b.expect("deploy", 0, "succeeded")
		b.requireTags("web:2", map[string]string{"team": "b"})
		b.expect("plan", 0, "No changes.")

		api := awsecs.NewFromConfig(b.sim.Config())
		_, err := api.TagResource(context.Background(), &awsecs.TagResourceInput{
			ResourceArn: aws.String("arn:aws:ecs:us-east-1:123456789012:task-definition/web:2"),
			Tags:        []ecstypes.Tag{{Key: aws.String("cost"), Value: aws.String("shop")}}})
		fail(t, err)
		b.expect("plan", 0, "No changes.", "!keeps tags")
		b.edit(caseEdit{"taskdef.json", `"value": "b"`, `"value": "c"`})
		b.expect("plan", 0, "~ tags[team].value: b -> c", "keeps tags of web:2 that the file does not have: cost.")
		b.expect("deploy", 0, "succeeded")
		b.requireTags("web:3", map[string]string{"team": "c", "cost": "shop"})
		b.expect("plan", 0, "No changes.")
	})
}

// requireTags requires the tags of a revision.
func (b *caseBench) requireTags(revision string, want map[string]string) {
	b.t.Helper()
	out, err := awsecs.NewFromConfig(b.sim.Config()).DescribeTaskDefinition(context.Background(),
		&awsecs.DescribeTaskDefinitionInput{TaskDefinition: aws.String(revision),
			Include: []ecstypes.TaskDefinitionField{ecstypes.TaskDefinitionFieldTags}})
	if err != nil {
		b.t.Error(err)
		return
	}
	for _, tag := range out.Tags {
		if want[*tag.Key] != *tag.Value {
			b.t.Errorf("tag %s of %s is %q, want %q", *tag.Key, revision, *tag.Value, want[*tag.Key])
		}
	}
	if len(out.Tags) != len(want) {
		b.t.Errorf("%s has %d tags, want %d", revision, len(out.Tags), len(want))
	}
}
