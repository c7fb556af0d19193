package awssim_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/awssim/ecr"
	"github.com/sluice-ecs/sluice/awssim/world"
)

const digestWorld = `
clusters: [prod]
repositories: [{name: web, images: [{tag: latest, moved: MOVED}, {tag: v1}]}]
services:
  - {name: web, cluster: prod, controller: ECS, count: 2, image: "000000000000.dkr.ecr.us-east-1.amazonaws.com/web:latest"}
`

// digestSite is a world whose service runs the tag latest of a repository.
type digestSite struct {
	*testing.T
	*awssim.Sim
	ecs   *awsecs.Client
	clock *hands
}

func newDigestSite(t *testing.T, moved string) digestSite {
	clock := newHands()
	s := newSim(t, awssim.Options{Clock: clock})
	load(t, s, strings.Replace(digestWorld, "MOVED", moved, 1))
	return digestSite{t, s, awsecs.NewFromConfig(s.Config()), clock}
}

// ofTasks returns the digests of the running tasks, newest deployment first.
func (s digestSite) ofTasks() (all []string) {
	s.Helper()
	list, err := s.ecs.ListTasks(ctx, &awsecs.ListTasksInput{Cluster: aws.String("prod")})
	if err != nil || len(list.TaskArns) == 0 {
		s.Fatal(list, err)
	}
	out, err := s.ecs.DescribeTasks(ctx, &awsecs.DescribeTasksInput{Cluster: aws.String("prod"), Tasks: list.TaskArns})
	if err != nil {
		s.Fatal(err)
	}
	for _, x := range out.Tasks {
		all = append(all, aws.ToString(x.Containers[0].ImageDigest))
	}
	return all
}

// ofTag returns the digest of the tag in the repository.
func (s digestSite) ofTag() string {
	s.Helper()
	out, err := ecr.New(s.World()).DescribeImages(world.WithKey(ctx, world.Key{Account: s.Account(), Region: s.Region()}),
		&ecr.DescribeImagesInput{RepositoryName: "web", ImageIds: []ecr.ImageIdentifier{{ImageTag: "latest"}}})
	if err != nil {
		s.Fatal(err)
	}
	return out.ImageDetails[0].ImageDigest
}

func (s digestSite) push() {
	s.Helper()
	_, err := ecr.New(s.World()).PutImage(world.WithKey(ctx, world.Key{Account: s.Account(), Region: s.Region()}),
		&ecr.PutImageInput{RepositoryName: "web", ImageTag: "latest", ImageManifest: "{}"})
	if err != nil {
		s.Fatal(err)
	}
}

// The digest of a task is that of its tag when the first task of its deployment started.
func TestTasksHaveTheDigestOfTheirTag(t *testing.T) {
	s := newDigestSite(t, "false")
	had := s.ofTag()
	for _, d := range s.ofTasks() {
		if d != had {
			t.Errorf("a task has %s, the tag %s", d, had)
		}
	}
	s.push()
	list, _ := s.ecs.ListTasks(ctx, &awsecs.ListTasksInput{Cluster: aws.String("prod")})
	_, err := s.ecs.StopTask(ctx, &awsecs.StopTaskInput{Cluster: aws.String("prod"), Task: &list.TaskArns[0]})
	if err != nil {
		t.Fatal(err)
	}
	s.clock.move(5 * time.Minute)
	for _, d := range s.ofTasks() { // the replacement too
		if d != had || d == s.ofTag() {
			t.Errorf("after the push a task of the same deployment has %s", d)
		}
	}
	out, err := s.ecs.UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
		Service: aws.String("web"), ForceNewDeployment: true})
	if err != nil {
		t.Fatal(err)
	}
	s.clock.move(15 * time.Minute)
	for _, d := range s.ofTasks() {
		if d != s.ofTag() {
			t.Errorf("after a forced deployment a task has %s, the tag %s", d, s.ofTag())
		}
	}
	s.checkRevision(out.Service)
}

func (s digestSite) checkRevision(svc *ecstypes.Service) {
	s.Helper()
	d, err := s.ecs.DescribeServiceDeployments(ctx, &awsecs.DescribeServiceDeploymentsInput{
		ServiceDeploymentArns: []string{*svc.CurrentServiceDeployment}})
	if err != nil {
		s.Fatal(err)
	}
	r, err := s.ecs.DescribeServiceRevisions(ctx, &awsecs.DescribeServiceRevisionsInput{
		ServiceRevisionArns: []string{*d.ServiceDeployments[0].TargetServiceRevision.Arn}})
	if err != nil || aws.ToString(r.ServiceRevisions[0].ContainerImages[0].ImageDigest) != s.ofTag() {
		s.Errorf("revision %+v, %v", r.ServiceRevisions[0].ContainerImages, err)
	}
}

// A world file can say that a tag has moved since.
func TestATagOfAWorldFileHasMoved(t *testing.T) {
	s := newDigestSite(t, "true")
	for _, d := range s.ofTasks() {
		if d == s.ofTag() || !strings.HasPrefix(d, "sha256:") {
			t.Errorf("a task has %s, the tag %s", d, s.ofTag())
		}
	}
}
