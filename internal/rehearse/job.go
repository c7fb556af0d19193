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
	Had      string // what the family had before, [hadSame] or [hadOther]; empty: no revision
	Only     bool   // the task is registered and not run
	Logs     bool   // its containers print to a log
}

// The family and container name of the task, and its second container.
const (
	jobFamily = "report"
	jobSide   = "side"
)

// The last revision of a family before the deployment.
const (
	hadSame  = "same"  // the revision of the files
	hadOther = "other" // another revision
)

// Images of its containers, and of revisions other than that of the files.
const (
	jobImage    = "sim/rehearsal:" + jobFamily
	sideImage   = "sim/rehearsal:" + jobSide
	formerImage = "sim/rehearsal:former"
)

// otherRevisionOptions is what revisions do that are not the one of the files.
const formerDoes = "crash-after=5s&exit=7"

// isJob reports whether the application has no service.
func (c Case) byItself() bool { return c.Job.Count > 0 }

// hasService reports whether the application has a service to deploy.
func served(c Case) bool { return !c.byItself() }

// taskCount returns how many tasks are to start.
func (j Job) times() int {
	if j.Only {
		return 0
	}
	return j.Count
}

// watchedContainer returns the container whose exit code decides.
func (j Job) watched() string {
	if j.Watch != "" {
		return j.Watch
	}
	return jobFamily
}

// jobText returns the job in a case's text, as name=value.
func (j Job) words() string {
	s := fmt.Sprintf("count=%d does=%s", j.Count, j.Does)
	for _, w := range [][2]string{{"side", j.Side}, {"watch", j.Watch}, {"provider", j.Provider}, {"had", j.Had}} {
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

func (j *Job) parse(words string) (err error) {
	for _, w := range strings.Fields(words) {
		name, value, _ := strings.Cut(w, "=")
		if err = j.set(name, value); err != nil {
			return err
		}
	}
	return nil
}

func (j *Job) set(name, value string) (err error) {
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
		j.Had = value
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
func jobParts() []func(Case, *draft) {
	return []func(Case, *draft){Case.jobInput, Case.jobContainers, Case.stepParts}
}

func (c Case) jobInput(d *draft) {
	w, j := c.World, c.Job
	line(&d.app, "name: %s\nregion: %s\ncluster: %s\nprogressDeadline: %s", jobFamily, w.Region, w.Cluster, c.patience())
	line(&d.input, "  taskDefinitionFile: taskdef.yaml\n  awsvpcConfiguration: {subnets: [%s]}", strings.Join(w.Subnets, ", "))
	if j.Watch != "" {
		line(&d.input, "  watchContainer: %s", j.Watch)
	}
	if j.Only {
		line(&d.input, "  runStandaloneTask: false")
	}
	provider := ""
	if j.Provider != "" {
		provider = fmt.Sprintf(", capacityProviderStrategy: [{capacityProvider: %s, weight: 1}]", j.Provider)
	}
	line(&d.input, "  runTask: {count: %d, overrides: {containerOverrides: [{name: %s, environment: [{name: TOKEN, value: %s}]}]}%s}",
		j.Count, jobFamily, secret, provider)
}

func (c Case) jobContainers(d *draft) {
	logs := ""
	if c.Job.Logs {
		logs = fmt.Sprintf("    logConfiguration: {logDriver: awslogs, options: {awslogs-group: /ecs/%s, awslogs-region: %s, awslogs-stream-prefix: run, awslogs-create-group: \"true\"}}\n",
			jobFamily, c.World.Region)
	}
	line(&d.task, "family: %s\nnetworkMode: awsvpc\nrequiresCompatibilities: [FARGATE]\ncpu: 256\nmemory: 512\ncontainerDefinitions:", jobFamily)
	fmt.Fprintf(&d.task, "  - name: %s\n    image: %s\n    environment: [{name: PASSWORD, value: %s}]\n%s", jobFamily, jobImage, secret, logs)
	if c.Job.Side != "" {
		fmt.Fprintf(&d.task, "  - name: %s\n    image: %s\n    essential: false\n%s", jobSide, sideImage, logs)
	}
}

// addJobImages defines what the containers do.
func (f *field) jobImages(all image.Catalog) error {
	if !f.byItself() {
		return nil
	}
	for name, options := range map[string]string{jobImage: f.Job.Does, sideImage: f.Job.Side, formerImage: formerDoes} {
		b, err := image.Parse("sim/job:v1?" + options)
		if err != nil {
			return err
		}
		all[name] = b
	}
	return nil
}

// buildJob builds the additional resources of a job.
func (f *field) layJob() error {
	if f.Job.Provider != "" {
		f.ask("PutClusterCapacityProviders", map[string]any{"cluster": f.World.Cluster, "capacityProviders": []string{f.Job.Provider}, "defaultCapacityProviderStrategy": []any{}})
	}
	switch f.Job.Had {
	case hadSame:
		return f.registerAs(jobImage)
	case hadOther:
		return f.registerAs(formerImage)
	}
	return nil
}

// registerAs registers the files' definition with another image, as another tool would.
func (f *field) registerAs(image string) error {
	app, err := f.load()
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
	if !f.ask("RegisterTaskDefinition", in) {
		return fmt.Errorf("%s cannot be registered", image)
	}
	return nil
}
