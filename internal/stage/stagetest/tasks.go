package stagetest

import (
	"fmt"
	"strings"
	"testing/fstest"
)

// JobTask returns a task definition whose container prints to a log.
func JobTask(family, image string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(fmt.Sprintf(`
family: %s
networkMode: awsvpc
requiresCompatibilities: [FARGATE]
cpu: 256
memory: 512
executionRoleArn: arn:aws:iam::123456789012:role/ecsTaskExecutionRole
containerDefinitions:
  - name: job
    image: %s
    environment: [{name: PASSWORD, value: %s}]
    logConfiguration:
      logDriver: awslogs
      options: {awslogs-group: /ecs/%[1]s, awslogs-region: us-east-1,
        awslogs-stream-prefix: %[1]s, awslogs-create-group: "true"}
`, family, image, Secret))}
}

// WithSteps adds a migration before the stages and a smoke test after them.
func WithSteps(files fstest.MapFS, before, after string) fstest.MapFS {
	text := string(files["sluice.yaml"].Data)
	if before != "" {
		files["migrate.yaml"] = JobTask("migrate", before)
		text += "\nbefore:\n  - {name: schema, taskDefinitionFile: migrate.yaml}\n"
	}
	if after != "" {
		image, rollback, _ := strings.Cut(after, " ")
		files["smoke.yaml"] = JobTask("smoke", image)
		text += "\nafter:\n  - {name: smoke, taskDefinitionFile: smoke.yaml, rollback: " + fmt.Sprint(rollback != "") +
			"}\n"
	}
	files["sluice.yaml"] = &fstest.MapFile{Data: []byte(text)}
	return files
}

// Secret is a value that no event and no row of the journal may hold.
const Secret = "hunter2-in-the-environment"
