package rehearse

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/sluice-ecs/sluice/awssim/image"
)

// Job is the standalone task of an application without a service definition. The service in the
// simulated AWS stays unchanged.
type Job struct {
	Count    int    // tasks of one run; 0: the application has a service
	Does     string // what its container does, as options of an image
	Side     string // what a second, non-essential container does, as options of an image; empty: none
	Watch    string // watchContainer; empty: the first essential one
	Provider string // capacity provider; empty: launch type FARGATE
	Prior    string // what the family had before, [priorSame] or [priorOther]; empty: no revision
	Only     bool   // the task is registered and not run
	Logs     bool   // its containers print to a log
}

// The family and container name of the task, and its second container.
const (
	jobFamily  = "report"
	jobSidecar = "side"
)

// The last revision of a family before the deployment.
const (
	priorSame  = "same"  // the revision of the files
	priorOther = "other" // another revision
)

// Images of its containers, and of revisions other than that of the files.
const (
	jobImage           = "sim/rehearsal:" + jobFamily
	sidecarImage       = "sim/rehearsal:" + jobSidecar
	otherRevisionImage = "sim/rehearsal:former"
)

// otherRevisionOptions is what revisions do that are not the one of the files.
const otherRevisionOptions = "crash-after=5s&exit=7"

// isJob reports whether the application has no service.
func (c Case) isJob() bool { return c.Job.Count > 0 }

// hasService reports whether the application has a service to deploy.
func hasService(c Case) bool { return !c.isJob() }

// taskCount returns how many tasks are to start.
func (j Job) taskCount() int {
	if j.Only {
		return 0
	}
	return j.Count
}

// watchedContainer returns the container whose exit code decides.
func (j Job) watchedContainer() string {
	if j.Watch != "" {
		return j.Watch
	}
	return jobFamily
}

// jobText returns the job in a case's text, as name=value.
func (j Job) jobText() string {
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

func (j *Job) parseWords(words string) (err error) {
	for _, w := range strings.Fields(words) {
		name, value, _ := strings.Cut(w, "=")
		if err = j.setWord(name, value); err != nil {
			return err
		}
	}
	return nil
}

func (j *Job) setWord(name, value string) (err error) {
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
func jobFileParts() []func(Case, *draft) {
	return []func(Case, *draft){Case.writeJobInput, Case.writeJobContainers, Case.writeSteps}
}

func (c Case) writeJobInput(d *draft) {
	w, j := c.World, c.Job
	writeLine(&d.app, "name: %s\nregion: %s\ncluster: %s\nprogressDeadline: %s", jobFamily, w.Region, w.Cluster,
		c.progressDeadline())
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
		j.Count, jobFamily, secret, provider)
}

func (c Case) writeJobContainers(d *draft) {
	logs := ""
	if c.Job.Logs {
		logs = fmt.Sprintf("    logConfiguration: {logDriver: awslogs, options: {awslogs-group: /ecs/%s, "+
			"awslogs-region: %s, awslogs-stream-prefix: run, awslogs-create-group: \"true\"}}\n",
			jobFamily, c.World.Region)
	}
	writeLine(&d.task, "family: %s\nnetworkMode: awsvpc\nrequiresCompatibilities: [FARGATE]\ncpu: 256\nmemory: "+
		"512\ncontainerDefinitions:", jobFamily)
	fmt.Fprintf(&d.task, "  - name: %s\n    image: %s\n    environment: [{name: PASSWORD, value: %s}]\n%s", jobFamily,
		jobImage, secret, logs)
	if c.Job.Side != "" {
		fmt.Fprintf(&d.task, "  - name: %s\n    image: %s\n    essential: false\n%s", jobSidecar, sidecarImage, logs)
	}
}

// addJobImages defines what the containers do.
func (f *rehearsal) addJobImages(all image.Catalog) error {
	if !f.isJob() {
		return nil
	}
	for name, options := range map[string]string{jobImage: f.Job.Does, sidecarImage: f.Job.Side,
		otherRevisionImage: otherRevisionOptions} {
		b, err := image.Parse("sim/job:v1?" + options)
		if err != nil {
			return err
		}
		all[name] = b
	}
	return nil
}

// buildJob builds the additional resources of a job.
func (f *rehearsal) buildJob() error {
	if f.Job.Provider != "" {
		f.callECS("PutClusterCapacityProviders", map[string]any{"cluster": f.World.Cluster,
			"capacityProviders": []string{f.Job.Provider}, "defaultCapacityProviderStrategy": []any{}})
	}
	switch f.Job.Prior {
	case priorSame:
		return f.registerAs(jobImage)
	case priorOther:
		return f.registerAs(otherRevisionImage)
	}
	return nil
}

// registerAs registers the files' definition with another image, as another tool would.
func (f *rehearsal) registerAs(image string) error {
	app, err := f.loadFitted()
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
	if !f.callECS("RegisterTaskDefinition", in) {
		return fmt.Errorf("%s cannot be registered", image)
	}
	return nil
}
