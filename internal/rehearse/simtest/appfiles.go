package simtest

import (
	"cmp"
	"fmt"
	"io/fs"
	"strings"
	"testing/fstest"
	"time"

	"github.com/sluice-ecs/sluice/internal/rehearse"
	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
)

// newImage is the image of the new version of generated applications.
const newImage = "sim/rehearsal:new"

// draft is a generated application whose files, in YAML, are not complete yet.
type draft struct {
	app, input, pipeline strings.Builder // of the application file; input is indented by two
	service, task        strings.Builder // the definitions
	before, after        strings.Builder // definitions of the steps
}

func writeLine(b *strings.Builder, format string, args ...any) { fmt.Fprintf(b, format+"\n", args...) }

// fileParts returns the functions that write the files. Each writes the lines of one trait or field
// of the case.
func fileParts() []func(*draft, rehearse.Case) {
	return []func(*draft, rehearse.Case){
		(*draft).writeNames,
		(*draft).writeContainer,
		(*draft).writeTaskSets,
		(*draft).writeRolling,
		(*draft).writeNative,
		(*draft).writeCanaryService,
		(*draft).writeCodeDeploy,
		(*draft).writeHooks,
		(*draft).writeCloudMap,
		(*draft).writeGrace,
		(*draft).writeSuspend,
		(*draft).writeStages,
		(*draft).writeSteps,
		(*draft).writeProvider,
	}
}

// Application returns the folder of a generated case's files; the application file is sluice.yaml.
func Application(c rehearse.Case) fs.FS {
	var d draft
	all := fileParts()
	if c.IsJob() {
		all = jobFileParts()
	}
	for _, part := range all {
		part(&d, c)
	}
	text := func(parts ...string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(strings.Join(parts, ""))} }
	file := text(d.app.String(), "input:\n", d.input.String(), d.pipeline.String())
	if c.PipeCD {
		file = text(d.pipeCDFile())
	}
	return fstest.MapFS{
		"sluice.yaml":     file,
		"servicedef.yaml": text(d.service.String()),
		"taskdef.yaml":    text(d.task.String()),
		"before.yaml":     text(d.before.String()),
		"after.yaml":      text(d.after.String()),
	}
}

// progressDeadline returns the progress deadline of the case, or the default.
func progressDeadline(c rehearse.Case) time.Duration { return cmp.Or(c.Deadline, 10*time.Minute) }

func (d *draft) writeNames(c rehearse.Case) {
	w := c.World
	writeLine(&d.app, "name: %s\nregion: %s\ncluster: %s\nprogressDeadline: %s", w.Service, w.Region, w.Cluster,
		progressDeadline(c))
	if c.Bake > 0 {
		writeLine(&d.app, "bake: %s", c.Bake)
	}
	if c.OutsidePolicy != "" {
		writeLine(&d.app, "onOutsideChange: %s", c.OutsidePolicy)
	}
	if c.AllowRoute {
		writeLine(&d.app, "onUnhealthyRoute: allow")
	}
	writeLine(&d.input, "  taskDefinitionFile: taskdef.yaml\n  serviceDefinitionFile: servicedef.yaml")
	writeLine(&d.service, "serviceName: %s\ncluster: %s\nlaunchType: FARGATE\nnetworkConfiguration: "+
		"{awsvpcConfiguration: {subnets: [%s]}}",
		w.Service, w.Cluster, strings.Join(w.Subnets, ", "))
}

func (d *draft) writeContainer(c rehearse.Case) {
	writeLine(&d.task, "family: web\nnetworkMode: awsvpc\nrequiresCompatibilities: [FARGATE]\ncpu: 256\nmemory: "+
		"512\ncontainerDefinitions:\n  - name: web\n    image: %s\n"+
		"    portMappings: [{containerPort: %d}]\n    environment: [{name: PASSWORD, value: %s}]", newImage,
		c.World.Port, rehearse.Secret)
}

func (d *draft) writeTaskSets(c rehearse.Case) {
	if c.World.Controller == "EXTERNAL" && !c.World.UsesCloudMap() {
		writeLine(&d.service, "deploymentController: {type: EXTERNAL}")
		d.writeGroups(c)
	}
}

func (d *draft) writeGroups(c rehearse.Case) {
	w := c.World
	if c.Exchanged {
		w.Primary, w.Canary = w.Canary, w.Primary
	}
	writeLine(&d.input, "  targetGroups:")
	for _, g := range []struct {
		name string
		shape.Group
	}{{"primary", w.Primary}, {"canary", w.Canary}} {
		writeLine(&d.input, "    %s: {targetGroupArn: %q, containerName: web, containerPort: %d}", g.name, g.ARN,
			w.Port)
	}
}

func (d *draft) writeRolling(c rehearse.Case) {
	if c.World.Controller == "ECS" && !c.World.UsesCloudMap() && !usesNative(c) {
		writeLine(&d.service, "loadBalancers: [{targetGroupArn: %q, containerName: web, containerPort: %d}]",
			c.World.Primary.ARN, c.World.Port)
		percents := ""
		if p := c.World.Percents; p != (shape.Percents{}) {
			percents = fmt.Sprintf("minimumHealthyPercent: %d, maximumPercent: %d, ", p.Least, p.Most)
		}
		writeLine(&d.service, "deploymentConfiguration: {%s%s%sdeploymentCircuitBreaker: {enable: %t, rollback: %t}}",
			percents, bakeText(c), alarmText(c), c.Breaker, c.Breaker)
	}
}

func (d *draft) writeGrace(c rehearse.Case) {
	if c.World.Grace > 0 {
		writeLine(&d.service, "healthCheckGracePeriodSeconds: %d", int(c.World.Grace.Seconds()))
	}
}

func (d *draft) writeStages(c rehearse.Case) {
	if len(c.Pipeline) == 0 {
		return
	}
	writeLine(&d.pipeline, "pipeline:\n  stages:")
	for _, s := range c.Pipeline {
		writeLine(&d.pipeline, "    - %s", stageYAML(s))
	}
}

// stageYAML converts "ECS_CANARY_ROLLOUT scale=50" to a stage of the file.
func stageYAML(s string) string {
	words := strings.Fields(s)
	var with []string
	for _, w := range words[1:] {
		k, v, _ := strings.Cut(w, "=")
		with = append(with, k+": "+v)
	}
	if len(with) == 0 {
		return "{name: " + words[0] + "}"
	}
	return "{name: " + words[0] + ", with: {" + strings.Join(with, ", ") + "}}"
}
