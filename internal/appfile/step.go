package appfile

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/internal/appfile/values"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// Step is a task that a deployment runs before or after its stages, such as a
// migration of a database.
type Step struct {
	Name           string
	Task           *definition.Task // nil: the deployment's own
	Run            *definition.Run  // never nil
	WatchContainer string           // whose exit code decides; empty: the first essential one
	Timeout        time.Duration    // hard limit
	Rollback       bool             // of a step after the stages: its failure rolls back
	Line           int              // of the entry in the application file
}

// stepShape returns the shape of an entry of before or after.
func stepShape(more ...key) shape {
	keys := []key{
		neededKey("name", shape{kind: word}, "The step's name: letters, digits, - and _."),
		honouredKey("taskDefinitionFile", shape{kind: text},
			"The step's own task definition, relative to this file. Default: the new revision of the deployment."),
		honouredKey("runTask", shape{kind: request}, runTaskSentence),
		honouredKey("watchContainer", shape{kind: text}, watchSentence),
		honouredKey("timeout", shape{kind: span},
			"The maximum duration of the step. Default: 6h. sluice does not stop the task."),
	}
	return shape{kind: list, of: &shape{kind: object, keys: append(keys, more...)}}
}

const (
	runTaskSentence = "Fields of AWS's RunTask request: count, overrides, capacityProviderStrategy, " +
		"networkConfiguration, tags and so on. Other values come from the service definition, launchType and " +
		"awsvpcConfiguration."
	watchSentence = "The container whose exit code decides the result. Default: the first essential container."
)

// refusedSteps refuses before and after where another format has them.
func refusedSteps(sentence string) []key {
	return []key{refusedKey("before", fmt.Sprintf(sentence, "before")),
		refusedKey("after", fmt.Sprintf(sentence, "after"))}
}

func stepKeys() []key {
	return []key{
		honouredKey("before", stepShape(),
			"Tasks that run before the first stage, each until it stops. If a task fails, the deployment ends before "+
				"it changes the service."),
		honouredKey("after", stepShape(
			honouredKey("rollback", shape{kind: flag},
				"Whether a failure of the step rolls the deployment back. Default: false.")),
			"Tasks that run after the last stage, each until it stops."),
	}
}

// readSteps reads the entries of before or after.
func (l *loader) readSteps(n *definition.Node, where string) (all []Step) {
	if n == nil || n.Kind != definition.List {
		return nil
	}
	seen := map[string]bool{}
	for i, item := range n.Items {
		at := fmt.Sprintf("%s[%d]", where, i)
		if item.Kind != definition.Map {
			continue
		}
		s := Step{Name: values.Text(item.Get("name")), Line: item.Line,
			WatchContainer: values.Text(item.Get("watchContainer")),
			Timeout:        values.SpanOr(item.Get("timeout"), DefaultTimeout), Rollback: values.FlagOr(item.Get("rollback"), false)}
		if seen[s.Name] && s.Name != "" {
			l.addProblem(l.src.At(item.Get("name"), "%s.name: %s is given twice", at, s.Name))
		}
		seen[s.Name] = true
		s.Run = l.decodeRunTask(item.Get("runTask"), at+".runTask")
		if file := item.Get("taskDefinitionFile"); values.Text(file) != "" {
			s.Task, _ = l.decodeTask(file, file.Text, at+".taskDefinitionFile")
		}
		all = append(all, s)
	}
	return all
}

// checkStepName refuses a step name that ECS does not accept in startedBy.
func (c *checker) checkStepName(n *definition.Node, path string) {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	if !c.checkKind(n, definition.Text, path) || n.Text != "" && len(n.Text) <= 40 &&
		strings.Trim(n.Text, letters) == "" {
		return
	}
	c.addProblem(n, "%s has 1 to 40 letters, digits, - and _, and this is %q", path, n.Text)
}

// requestSchema returns a schema of RunTask's request with the names of its fields only.
func requestSchema() map[string]any {
	properties := map[string]any{}
	for _, name := range definition.RunMembers() {
		properties[name] = map[string]any{}
	}
	return map[string]any{"type": []string{"object", "null"}, "properties": properties, "additionalProperties": false}
}

// fillStandaloneRun reads input.runTask. A capacity provider replaces the launch type; a file with
// both is refused.
func (l *loader) fillStandaloneRun(input *definition.Node) {
	s := &l.app.Standalone
	s.RunTask = l.decodeRunTask(input.Get("runTask"), "input.runTask")
	if len(s.RunTask.Input.CapacityProviderStrategy) == 0 {
		return
	}
	if n := input.Get("launchType"); values.IsGiven(n) {
		l.addProblem(l.src.At(n, "input.launchType and input.runTask.capacityProviderStrategy exclude each other: "+
			"remove one"))
	}
	s.LaunchType = ""
}

func (l *loader) decodeRunTask(n *definition.Node, where string) *definition.Run {
	run, problems := definition.DecodeRun(l.src, n, where)
	l.problems = append(l.problems, problems...)
	return run
}
