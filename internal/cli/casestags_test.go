package cli

import (
	"context"
	"maps"
	"strings"
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

// A deployment removes the tags of the service and of the task definition that an earlier file set and this one does not
// have, after a success. It keeps tags that others added, and names them.
func TestTagsLeftOutAreRemoved(t *testing.T) {
	noMachine(t)
	for _, format := range []string{"sluice.yaml", "ecspresso.yml"} {
		t.Run(format, func(t *testing.T) { playCase(t, "07-tags-of-the-task-definition", nil, removeTags(format)) })
	}
}

const tagsOfService = `"serviceName": "web", "tags": [{"key": "team", "value": "b"}, {"key": "stage", "value": "prod"}]`

func removeTags(format string) func(b *caseBench) {
	return func(b *caseBench) {
		if format == "ecspresso.yml" {
			b.useEcspresso("")
		}
		b.edit(caseEdit{"servicedef.json", `"serviceName": "web"`, tagsOfService})
		b.expect("deploy", 0, "succeeded")
		b.requireServiceTags(map[string]string{"team": "b", "stage": "prod"})
		b.tag("service/prod/web", "cost", "shop")
		b.tag("task-definition/web:2", "cost", "shop")
		b.expect("plan", 0, "No changes.", "!keeps")

		b.edit(caseEdit{"servicedef.json", `{"key": "team", "value": "b"}, `, ""})
		b.edit(caseEdit{"taskdef.json", `"key": "team"`, `"key": "owner"`})
		texts := []string{"- tags[team]: {key: team, value: b}", "+ tags[owner]: {key: owner, value: b}"}
		b.expect("diff", 2, texts...)
		b.expect("plan", 0, append(texts, "the service keeps tags that the file does not have: cost",
			"the new task definition keeps tags of web:2 that the file does not have: cost", "!keeps tags of web:2 that the file does not have: team")...)
		b.expect("deploy", 0, "succeeded")
		b.requireServiceTags(map[string]string{"stage": "prod", "cost": "shop"})
		b.requireTags("web:3", map[string]string{"owner": "b", "cost": "shop"})
		b.expect("plan", 0, "No changes.")

		b.tag("service/prod/web", "team", "others")
		b.edit(caseEdit{"servicedef.json", `"stage", "value": "prod"`, `"stage", "value": "test"`})
		b.expect("plan", 0, "~ tags[stage].value: prod -> test", "!- tags[team]", "keeps tags that the file does not have: cost, team")
		b.edit(caseEdit{"servicedef.json", `, "tags": [{"key": "stage", "value": "test"}]`, ""})
		b.expect("plan", 0, "- tags[stage]: {key: stage, value: prod}", "!- tags[team]")
		b.expect("deploy", 0, "succeeded")
		b.requireServiceTags(map[string]string{"cost": "shop", "team": "others"})
		b.expect("plan", 0, "No changes.", "!keeps tags")
		b.edit(caseEdit{"taskdef.json", `"value": "b"`, `"value": "d"`}) // the file has no tag of the service
		b.expect("plan", 0, "the service keeps tags that the file does not have: cost, team")
	}
}

// A revision that is chosen by its number has no file: its tags are no difference.
func TestTagsOfAChosenRevisionAreNoDifference(t *testing.T) {
	noMachine(t)
	playCase(t, "07-tags-of-the-task-definition", nil, func(b *caseBench) {
		b.expect("deploy", 0, "succeeded")
		b.expect("plan --skip-task-definition", 0, "No changes.")
		b.expect("plan --revision 2", 0, "No changes.")
	})
}

// A key of ignore.tags stays, although an earlier file set it.
func TestIgnoredTagsStay(t *testing.T) {
	noMachine(t)
	playCase(t, "07-tags-of-the-task-definition", nil, func(b *caseBench) {
		b.useEcspresso("")
		b.edit(caseEdit{"servicedef.json", `"serviceName": "web"`, tagsOfService})
		b.expect("deploy", 0, "succeeded")
		b.useEcspresso("ignore: {tags: [team, stage]}")
		b.expect("plan", 0, "No changes.")
	})
}

// A deployment that is rolled back keeps the tags, and the next one removes them.
func TestARollbackKeepsTags(t *testing.T) {
	noMachine(t)
	playCase(t, "07-tags-of-the-task-definition", nil, func(b *caseBench) {
		b.edit(caseEdit{"servicedef.json", `"serviceName": "web"`, tagsOfService})
		b.expect("deploy", 0, "succeeded")
		b.edit(caseEdit{"servicedef.json", `{"key": "team", "value": "b"}, `, ""})
		const good = `"image": "sim/web:v1"`
		b.edit(caseEdit{"taskdef.json", good, `"image": "sim/web:v1-crash-after-2s-exit-1"`})
		b.expect("deploy --auto-rollback", 3, "rolled back")
		b.requireServiceTags(map[string]string{"team": "b", "stage": "prod"})
		b.edit(caseEdit{"taskdef.json", `"image": "sim/web:v1-crash-after-2s-exit-1"`, good})
		b.expect("plan", 0, "- tags[team]: {key: team, value: b}")
		b.expect("deploy", 0, "succeeded")
		b.requireServiceTags(map[string]string{"stage": "prod"})
	})
}

// tag adds a tag, as another tool does.
func (b *caseBench) tag(resource, key, value string) {
	b.t.Helper()
	_, err := awsecs.NewFromConfig(b.sim.Config()).TagResource(context.Background(), &awsecs.TagResourceInput{
		ResourceArn: aws.String("arn:aws:ecs:us-east-1:123456789012:" + resource),
		Tags:        []ecstypes.Tag{{Key: aws.String(key), Value: aws.String(value)}}})
	fail(b.t, err)
}

// requireServiceTags requires the tags of the service, besides those of sluice.
func (b *caseBench) requireServiceTags(want map[string]string) {
	b.t.Helper()
	b.compareTags("the service", b.describeWeb().Tags, want)
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
	b.compareTags(revision, out.Tags, want)
}

func (b *caseBench) compareTags(of string, have []ecstypes.Tag, want map[string]string) {
	b.t.Helper()
	got := map[string]string{}
	for _, tag := range have {
		if !strings.HasPrefix(*tag.Key, "sluice:") {
			got[*tag.Key] = *tag.Value
		}
	}
	if !maps.Equal(got, want) {
		b.t.Errorf("the tags of %s are %v, want %v", of, got, want)
	}
}
