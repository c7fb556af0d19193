package cli

import "testing"

// An image that ECR does not have is refused before the first write, at its line, with the tags or repositories that
// there are. An image that a plan cannot be sure of is a warning or a note. One of the serving revision is not read.
func TestImagesThatECRDoesNotHave(t *testing.T) {
	noMachine(t)
	const name, registry = "14-tag-that-moved", "123456789012.dkr.ecr.us-east-1.amazonaws.com/"
	image := func(to string) caseEdit { return caseEdit{"taskdef.json", registry + "web:latest", to} }
	tags := caseEdit{"world.yaml", `"tag": "latest", "moved": true`, `"tag": "v1"}, {"tag": "latest"`}
	refused := func(edits []caseEdit, texts ...string) {
		t.Helper()
		playCase(t, name, edits, func(b *caseBench) {
			for _, command := range []string{"plan", "deploy"} {
				b.expect(command, 1, append([]string{"taskdef.json:13: "}, texts...)...)
			}
			b.expect("verify", 1, texts[:len(texts)-1]...)
			if s := b.describeWeb(); *s.TaskDefinition != "arn:aws:ecs:us-east-1:123456789012:task-definition/web:1" {
				t.Errorf("after a refused deployment the service runs %s, want web:1", *s.TaskDefinition)
			}
		})
	}
	refused([]caseEdit{image(registry + "web:v2"), tags}, "image "+registry+"web:v2",
		"repository web has no tag v2; its newest tags are v1, latest", "next: build and push the image, or correct its tag")
	refused([]caseEdit{image(registry + "web:lastest"), tags}, "repository web has no tag lastest",
		"next: correct the tag: latest exists")
	refused([]caseEdit{image(registry + "web@sha256:" + noDigest)}, "repository web has no image with this digest",
		"next: build and push the image, or correct its digest")
	warned := func(edits []caseEdit, denied string, texts ...string) {
		t.Helper()
		playCase(t, name, edits, func(b *caseBench) {
			if denied != "" {
				fail(t, b.sim.Inject("denied "+denied))
			}
			b.expect("plan", 0, texts...)
		})
	}
	warned([]caseEdit{image(registry + "wbes:v1"), {"world.yaml", `"repositories": [`, `"repositories": [{"name": "shop"}, `},
		{"world.yaml", `"name": "web",
   "images"`, `"name": "webs", "images"`}}, "", "Warnings", "taskdef.json:13: ",
		"account 123456789012 has no repository wbes in us-east-1; it has shop, webs", "correct the repository: webs exists")
	warned([]caseEdit{image(registry + "shop:v1")}, "", "Warnings",
		"account 123456789012 has no repository shop in us-east-1; it has web",
		"create the repository and push the image, or correct its name")
	missing := []caseEdit{image(registry + "web:v2")}
	warned(missing, "ecr:BatchGetImage", "Notes", "not checked: image "+registry+"web:v2: ", "ecr:BatchGetImage", "!Warnings")
	warned(missing, "ecr:DescribePullThroughCacheRules", "Warnings", "taskdef.json:13: image "+registry+"web:v2: "+
		"repository web has no tag v2", "whether a pull imports it cannot be read")
	warned([]caseEdit{image("000000000000.dkr.ecr.us-east-1.amazonaws.com/web:v2")}, "", "Warnings",
		"account 000000000000 does not show it")
	warned([]caseEdit{image("123456789012.dkr.ecr.eu-west-1.amazonaws.com/web:v2")}, "", "Notes", "not checked: image",
		"a plan reads only from us-east-1", "!Warnings")
	warned([]caseEdit{image(registry + "web:v1"), tags}, "", "!Warnings", "!not checked")
	warned([]caseEdit{image(registry + "web:v2"), {"servicedef.json", `"launchType"`, `"desiredCount": 0, "launchType"`}}, "",
		"Warnings", "the desired count is 0, so no task pulls it yet")
	warned([]caseEdit{image(registry + "web@sha256:" + noDigest), {"world.yaml", registry + "web:latest",
		registry + "web@sha256:" + noDigest}, {"taskdef.json", `"cpu": "256"`, `"cpu": "512"`},
		{"taskdef.json", `"memory": "512"`, `"memory": "1024"`}}, "ecr:BatchGetImage", "!Warnings", "!not checked")
}

const noDigest = "0000000000000000000000000000000000000000000000000000000000000000"

// Fargate pulls an image of ECR with the execution role. A flag that gives such an image is checked before the first write,
// as the image of a file is.
func TestAnImageOfAFlagNeedsTheExecutionRole(t *testing.T) {
	noMachine(t)
	const image = "123456789012.dkr.ecr.us-east-1.amazonaws.com/web:latest"
	file := caseEdit{"taskdef.json", image, "nginx:1"}
	role := caseEdit{"taskdef.json", `"executionRoleArn": "arn:aws:iam::123456789012:role/ecsTaskExecutionRole",`, ""}
	playCase(t, "14-tag-that-moved", []caseEdit{file, role}, func(b *caseBench) {
		for _, command := range []string{"plan", "deploy"} {
			b.expect(command+" --image "+image, 1, "(execution role): the task definition has none, and Fargate pulls the image of "+
				"container web from ECR with it", "next: set executionRoleArn in files/taskdef.json")
		}
		b.expect("plan", 0, "!(execution role)")
	})
	playCase(t, "14-tag-that-moved", []caseEdit{file}, func(b *caseBench) {
		b.expect("plan --image "+image, 0, "!(execution role)")
	})
}
