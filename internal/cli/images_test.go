package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
)

// ciImage is the image that CI built.
const ciImage = "123456789012.dkr.ecr.us-east-1.amazonaws.com/ci@sha256:" +
	"00000000000000000000000000000000000000000000000000000000000000aa"

// In every mode --image deploys the image that CI built, and the plan shows where it came from. A file with
// image: from-service does not ask for another image afterwards.
func TestImageOfCIIsDeployed(t *testing.T) {
	noMachine(t)
	for _, shape := range []string{"fargate-balanced", "external-balanced", "codedeploy", "discovery-a", "daemon", "fargate"} {
		t.Run(shape, func(t *testing.T) {
			t.Parallel()
			playShape(t, shape, func(b *caseBench) {
				was := b.images[0]
				container := b.servingContainers()[0]
				from := "image of container " + container + ": " + ciImage + " (--image; the file has " + was + ")"
				b.expect("plan --image "+ciImage, 0, from, "ci@sha256:0")
				b.expect("deploy --image "+container+"="+ciImage, 0, "succeeded", from)
				if got := b.servingImages(); got[0] != ciImage {
					t.Errorf("%s serves", got)
				}
				b.expect("plan --image "+ciImage, 0, "No changes")
				b.expect("plan --detailed-exitcode", 2, was)
				b.edit(caseEdit{"taskdef.json", was, "from-service"})
				b.expect("plan --detailed-exitcode", 0, "No changes",
					"image of container "+container+": "+ciImage+" (the service has it; the file has from-service)")
				b.expect("diff", 0, "No changes")
				b.expect("deploy --image "+container+"="+was, 0, "succeeded")
				if got := b.servingImages(); got[0] != was {
					t.Errorf("%s serves", got)
				}
				b.expect("plan --image-tag "+container+"=v9", 1, "the file has no image whose tag could be replaced")
			})
		})
	}
}

// playShape plays a service of testdata/shapes in the world that sluice sim --from builds.
func playShape(t *testing.T, name string, play func(*caseBench)) {
	t.Helper()
	b := &caseBench{shapeBench: newShapeBench(t, readArchive(t, "testdata/shapes/"+name+".txtar"))}
	b.files = filepath.Join(b.dir, "files")
	b.clock.Run(func() {
		if b.load() {
			play(b)
		}
	})
}

// servingImages returns the images of the task definition that serves.
func (b *caseBench) servingImages() (images []string) {
	for _, d := range b.servingTask() {
		images = append(images, d[1])
	}
	return images
}

func (b *caseBench) servingContainers() (names []string) {
	for _, d := range b.servingTask() {
		names = append(names, d[0])
	}
	return names
}

// servingTask returns name and image of each container of the task definition that serves.
func (b *caseBench) servingTask() (all [][2]string) {
	live := b.describe()
	name := aws.ToString(live.TaskDefinition)
	for _, ts := range live.TaskSets {
		if aws.ToString(ts.Status) == "PRIMARY" {
			name = aws.ToString(ts.TaskDefinition)
		}
	}
	out, err := awsecs.NewFromConfig(b.sim.Config()).DescribeTaskDefinition(context.Background(),
		&awsecs.DescribeTaskDefinitionInput{TaskDefinition: aws.String(name)})
	fail(b.t, err)
	for _, c := range out.TaskDefinition.ContainerDefinitions {
		all = append(all, [2]string{aws.ToString(c.Name), aws.ToString(c.Image)})
	}
	return all
}

// ECS's own strategies deploy the image that CI built.
func TestImageOfCIWithOwnStrategy(t *testing.T) {
	noMachine(t)
	playFiles(t, "05-own-strategy-from-files", nil, func(b *caseBench) {
		b.service = map[string]any{"serviceName": "web"}
		b.expect("deploy --image "+ciImage, 0, "succeeded")
		if got := b.servingImages(); got[0] != ciImage {
			t.Errorf("%s serves", got)
		}
	})
}

// Flags that name no container, or not only one, are refused before anything is written.
func TestImagesThatCannotBeSet(t *testing.T) {
	noMachine(t)
	playShape(t, "several-containers", func(b *caseBench) {
		names := b.servingContainers()
		b.expect("deploy --image web:v2", 1, "the task definition has "+countWords(names)+": "+strings.Join(names, ", "),
			"next: name one of them: --image "+names[0]+"=…")
		b.expect("deploy --image wep=web:v2", 1, `no task definition has a container "wep"`,
			"next: name one of "+names[0])
		b.expect("deploy --image other:"+names[0]+"=web:v2", 1, `no application is named "other"`)
		b.expect("deploy --image files:wep=web:v2", 1, `there is no container "wep"`, "next: name one of "+names[0])
		b.expect("deploy --image "+names[0]+"=", 1, "the image is empty: is a variable of the command not set?")
		b.expect("deploy --image-tag "+names[0]+"=", 1, "the tag is empty: is a variable of the command not set?")
		b.expect("deploy --image =web:v2", 1, "there is no container before the =")
		b.expect("deploy --image "+names[0]+"=Web:v2", 1, "is not the name of an image")
		b.expect("deploy --image "+names[0]+"=web@sha256:12", 1, "is not the name of an image: a sha256 digest has 64 hexadecimal digits, and this one 2")
		b.expect("deploy --image "+names[0]+"=web:", 1, "is not the name of an image: its tag is empty; is a variable of the command not set?")
		b.expect("deploy --image "+names[0]+"=sim/web:v2?errors=1%", 1, "written after its tag, as in sim/web:v2-crash-after-5s")
		b.expect("deploy --image "+names[0]+"=web:v2 --image-tag "+names[0]+"=v3", 1, "is given twice")
		b.expect("deploy --image-tag "+names[0]+"=v:3", 1, "is not the name of an image")
		if got := b.servingImages(); got[0] != b.images[0] && !strings.HasSuffix(got[0], ":previous") {
			t.Errorf("%s serves", got)
		}
		b.expect("plan --image "+names[0]+"=web:v2 --image "+names[1]+"=log:v3", 0, "web:v2", "log:v3")
		code, out, log := b.sluice("render", "taskdef", "files", "--image", names[1]+"=log:v3")
		if code != 0 || !strings.Contains(out, `"image": "log:v3"`) {
			t.Errorf("exit %d\n%s%s", code, out, log)
		}
	})
}

func countWords(names []string) string {
	return map[int]string{2: "2 containers", 3: "3 containers", 4: "4 containers"}[len(names)]
}

// A service that does not exist has no image: the first deployment needs one.
func TestFromServiceWithoutAService(t *testing.T) {
	noMachine(t)
	playShape(t, "fargate", func(b *caseBench) {
		b.edit(caseEdit{"taskdef.json", b.images[0], "from-service"})
		name := b.service["serviceName"].(string)
		b.edit(caseEdit{"servicedef.json", `"` + name + `"`, `"other"`})
		b.expect("plan", 1, "the service does not exist", name)
		b.expect("plan --image web:v2", 0, "web:v2")
	})
}

// A desired count of the service stays, whoever set it. Only files of sluice have that.
func TestCountOfTheServiceStays(t *testing.T) {
	noMachine(t)
	playShape(t, "fargate", func(b *caseBench) {
		b.expect("deploy --tasks 3", 0, "succeeded")
		b.edit(caseEdit{"servicedef.json", fmt.Sprintf(`"desiredCount": %v`, b.service["desiredCount"]),
			`"desiredCount": "from-service"`})
		b.expect("plan --detailed-exitcode", 0, "No changes")
		b.expect("deploy --force-new-deployment", 0, "succeeded")
		if n := b.describe().DesiredCount; n != 3 {
			t.Errorf("%d tasks are desired", n)
		}
		const file = "apiVersion: pipecd.dev/v1beta1\nkind: ECSApp\nspec: {name: web, input: {taskDefinitionFile: taskdef.json, " +
			"serviceDefinitionFile: servicedef.json}}\n"
		fail(t, os.WriteFile(filepath.Join(b.files, "app.pipecd.yaml"), []byte(file), 0o600))
		b.expect("plan", 1, "app.pipecd.yaml:3", "desiredCount: from-service is only for services of a sluice.yaml")
	})
}
