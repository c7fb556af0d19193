package simtest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/sluice-ecs/sluice/awssim/image"
	"github.com/sluice-ecs/sluice/internal/rehearse"
)

// jobSidecar is the second container of the task; the first is called as the family.
const jobSidecar = "side"

// The last revision of a family before the deployment.
const (
	priorSame  = "same"  // the revision of the files
	priorOther = "other" // another revision
)

// Images of its containers, and of revisions other than that of the files.
const (
	jobImage           = "sim/rehearsal:" + rehearse.JobFamily
	sidecarImage       = "sim/rehearsal:" + jobSidecar
	otherRevisionImage = "sim/rehearsal:former"
)

// otherRevisionOptions is what revisions do that are not the one of the files.
const otherRevisionOptions = "crash-after=5s&exit=7"

// hasService reports whether the application has a service to deploy.
func hasService(c rehearse.Case) bool { return !c.IsJob() }

// watchedContainer returns the container whose exit code decides.
func watchedContainer(j rehearse.Job) string {
	if j.Watch != "" {
		return j.Watch
	}
	return rehearse.JobFamily
}

// jobText returns the job in a case's text, as name=value.
func jobText(j rehearse.Job) string {
	s := fmt.Sprintf("count=%d does=%s", j.Count, j.Does)
	for _, w := range [][2]string{{"side", j.Side}, {"watch", j.Watch}, {"provider", j.Provider}, {"had", j.Prior}} {
		if w[1] != "" {
			s += " " + w[0] + "=" + w[1]
		}
	}
	if j.Only {
		s += " only=true"
	}
	if j.Logs {
		s += " logs=true"
	}
	return s
}

func parseJob(j *rehearse.Job, words string) (err error) {
	for _, w := range strings.Fields(words) {
		name, value, _ := strings.Cut(w, "=")
		if err = setJobWord(j, name, value); err != nil {
			return err
		}
	}
	return nil
}

func setJobWord(j *rehearse.Job, name, value string) (err error) {
	switch name {
	case "count":
		j.Count, err = strconv.Atoi(value)
	case "does":
		j.Does = value
	case "side":
		j.Side = value
	case "watch":
		j.Watch = value
	case "provider":
		j.Provider = value
	case "had":
		j.Prior = value
	case "only":
		j.Only, err = strconv.ParseBool(value)
	case "logs":
		j.Logs, err = strconv.ParseBool(value)
	default:
		err = fmt.Errorf("a job has no %q", name)
	}
	return err
}

// jobFileParts returns the functions that write the files of an application without a service.
func jobFileParts() []func(*draft, rehearse.Case) {
	return []func(*draft, rehearse.Case){(*draft).writeJobInput, (*draft).writeJobContainers, (*draft).writeSteps}
}

func (d *draft) writeJobInput(c rehearse.Case) {
	w, j := c.World, c.Job
	writeLine(
		&d.app,
		"name: %s\nregion: %s\ncluster: %s\nprogressDeadline: %s",
		rehearse.JobFamily,
		w.Region,
		w.Cluster,
		progressDeadline(c),
	)
	writeLine(&d.input, "  taskDefinitionFile: taskdef.yaml\n  awsvpcConfiguration: {subnets: [%s]}",
		strings.Join(w.Subnets, ", "))
	if j.Watch != "" {
		writeLine(&d.input, "  watchContainer: %s", j.Watch)
	}
	if j.Only {
		writeLine(&d.input, "  runStandaloneTask: false")
	}
	provider := ""
	if j.Provider != "" {
		provider = fmt.Sprintf(", capacityProviderStrategy: [{capacityProvider: %s, weight: 1}]", j.Provider)
	}
	writeLine(&d.input, "  runTask: {count: %d, overrides: {containerOverrides: [{name: %s, environment: [{name: "+
		"TOKEN, value: %s}]}]}%s}",
		j.Count, rehearse.JobFamily, rehearse.Secret, provider)
}

func (d *draft) writeJobContainers(c rehearse.Case) {
	logs := ""
	if c.Job.Logs {
		logs = fmt.Sprintf("    logConfiguration: {logDriver: awslogs, options: {awslogs-group: /ecs/%s, "+
			"awslogs-region: %s, awslogs-stream-prefix: run, awslogs-create-group: \"true\"}}\n",
			rehearse.JobFamily, c.World.Region)
	}
	writeLine(&d.task, "family: %s\nnetworkMode: awsvpc\nrequiresCompatibilities: [FARGATE]\ncpu: 256\nmemory: 512\n"+
		"executionRoleArn: arn:aws:iam::"+c.World.Account+":role/exec\ncontainerDefinitions:", rehearse.JobFamily)
	fmt.Fprintf(
		&d.task,
		"  - name: %s\n    image: %s\n    environment: [{name: PASSWORD, value: %s}]\n%s",
		rehearse.JobFamily,
		jobImage,
		rehearse.Secret,
		logs,
	)
	if c.Job.Side != "" {
		fmt.Fprintf(&d.task, "  - name: %s\n    image: %s\n    essential: false\n%s", jobSidecar, sidecarImage, logs)
	}
}

// addJobImages defines what the containers do.
func (f *simulation) addJobImages(all image.Catalog) error {
	if !f.env.Case.IsJob() {
		return nil
	}
	for name, options := range map[string]string{jobImage: f.env.Case.Job.Does, sidecarImage: f.env.Case.Job.Side,
		otherRevisionImage: otherRevisionOptions} {
		b, err := image.Parse("sim/job:v1?" + options)
		if err != nil {
			return err
		}
		all[name] = b
	}
	return nil
}

// addJob builds the additional resources of a job.
func (f *simulation) addJob() error {
	if f.env.Case.Job.Provider != "" {
		f.env.CallECS("PutClusterCapacityProviders", map[string]any{"cluster": f.env.Case.World.Cluster,
			"capacityProviders": []string{f.env.Case.Job.Provider}, "defaultCapacityProviderStrategy": []any{}})
	}
	switch f.env.Case.Job.Prior {
	case priorSame:
		return f.registerAs(jobImage)
	case priorOther:
		return f.registerAs(otherRevisionImage)
	}
	return nil
}

// registerAs registers the files' definition with another image, as another tool would.
func (f *simulation) registerAs(image string) error {
	app, err := f.env.Case.LoadApplication()
	if err != nil {
		return err
	}
	data, err := app.Task.JSON()
	if err != nil {
		return err
	}
	var in map[string]any
	if err := json.Unmarshal([]byte(strings.Replace(string(data), jobImage, image, 1)), &in); err != nil {
		return err
	}
	if !f.env.CallECS("RegisterTaskDefinition", in) {
		return fmt.Errorf("%s cannot be registered", image)
	}
	return nil
}
