package rehearse

import (
	"cmp"
	"fmt"
	"io/fs"
	"strings"
	"testing/fstest"
	"time"
)

// Images of generated applications; the image catalogue of the world defines what they do.
const (
	oldImage = "sim/rehearsal:old"
	newImage = "sim/rehearsal:new"
)

// secret is in the environment of generated applications. No event and no row may contain it (P6).
const secret = "s3cr3t-of-the-environment"

// draft is a generated application whose files, in YAML, are not complete yet.
type draft struct {
	app, input, pipeline strings.Builder // of the application file; input is indented by two
	service, task        strings.Builder // the definitions
	before, after        strings.Builder // definitions of the steps
}

func line(b *strings.Builder, format string, args ...any) { fmt.Fprintf(b, format+"\n", args...) }

// fileParts returns the functions that write the files. Each writes the lines of one trait or field
// of the case.
func parts() []func(Case, *draft) {
	return []func(Case, *draft){Case.names, Case.container, Case.taskSetParts, Case.rollingParts, Case.besideParts, Case.shiftedParts, Case.hookParts, Case.namedParts, Case.graceParts, Case.suspendParts, Case.stages, Case.stepParts}
}

// Application returns the folder of a generated case's files; the application file is sluice.yaml.
func (c Case) Application() fs.FS {
	var d draft
	all := parts()
	if c.byItself() {
		all = jobParts()
	}
	for _, part := range all {
		part(c, &d)
	}
	text := func(parts ...string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(strings.Join(parts, ""))} }
	return fstest.MapFS{
		"sluice.yaml":     text(d.app.String(), "input:\n", d.input.String(), d.pipeline.String()),
		"servicedef.yaml": text(d.service.String()),
		"taskdef.yaml":    text(d.task.String()),
		"before.yaml":     text(d.before.String()),
		"after.yaml":      text(d.after.String()),
	}
}

// progressDeadline returns the progress deadline of the case, or the default.
func (c Case) patience() time.Duration { return cmp.Or(c.Deadline, 10*time.Minute) }

func (c Case) names(d *draft) {
	w := c.World
	line(&d.app, "name: %s\nregion: %s\ncluster: %s\nprogressDeadline: %s", w.Service, w.Region, w.Cluster, c.patience())
	if c.Outside != "" {
		line(&d.app, "onOutsideChange: %s", c.Outside)
	}
	line(&d.input, "  taskDefinitionFile: taskdef.yaml\n  serviceDefinitionFile: servicedef.yaml")
	line(&d.service, "serviceName: %s\ncluster: %s\nlaunchType: FARGATE\nnetworkConfiguration: {awsvpcConfiguration: {subnets: [%s]}}",
		w.Service, w.Cluster, strings.Join(w.Subnets, ", "))
}

func (c Case) container(d *draft) {
	line(&d.task, "family: web\nnetworkMode: awsvpc\nrequiresCompatibilities: [FARGATE]\ncpu: 256\nmemory: 512\ncontainerDefinitions:\n  - name: web\n    image: %s\n"+
		"    portMappings: [{containerPort: %d}]\n    environment: [{name: PASSWORD, value: %s}]", newImage, c.World.Port, secret)
}

func (c Case) taskSetParts(d *draft) {
	if c.World.Controller == "EXTERNAL" && !c.World.byName() {
		line(&d.service, "deploymentController: {type: EXTERNAL}")
		c.groups(d)
	}
}

func (c Case) groups(d *draft) {
	w := c.World
	line(&d.input, "  targetGroups:")
	for _, g := range []struct {
		name string
		Group
	}{{"primary", w.Primary}, {"canary", w.Canary}} {
		line(&d.input, "    %s: {targetGroupArn: %q, containerName: web, containerPort: %d}", g.name, g.ARN, w.Port)
	}
}

func (c Case) rollingParts(d *draft) {
	if c.World.Controller == "ECS" && !c.World.byName() {
		line(&d.service, "loadBalancers: [{targetGroupArn: %q, containerName: web, containerPort: %d}]", c.World.Primary.ARN, c.World.Port)
		percents := ""
		if p := c.World.Percents; p != (Percents{}) {
			percents = fmt.Sprintf("minimumHealthyPercent: %d, maximumPercent: %d, ", p.Least, p.Most)
		}
		line(&d.service, "deploymentConfiguration: {%sdeploymentCircuitBreaker: {enable: %t, rollback: %t}}", percents, c.Breaker, c.Breaker)
	}
}

func (c Case) graceParts(d *draft) {
	if c.World.Grace > 0 {
		line(&d.service, "healthCheckGracePeriodSeconds: %d", int(c.World.Grace.Seconds()))
	}
}

func (c Case) stages(d *draft) {
	if len(c.Pipeline) == 0 {
		return
	}
	line(&d.pipeline, "pipeline:\n  stages:")
	for _, s := range c.Pipeline {
		line(&d.pipeline, "    - %s", stageYAML(s))
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
