package plan

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// Kept is the plan as a journal may keep it: without the values of environments
// and of the options of drivers, which may be secret. A plan that lost any is
// Redacted and cannot register its task definition, a task that did cannot be
// started; [Plan.Supply] makes them whole again.
func (p *Plan) Kept() *Plan {
	kept := *p
	var lost bool
	if kept.Task, lost = withoutSecrets(p.Task); lost {
		kept.Redacted = true
	}
	kept.Stages = slices.Clone(p.Stages)
	for i := range kept.Stages {
		if t := kept.Stages[i].Task; t != nil {
			kept.Stages[i].Task = t.kept()
		}
	}
	return &kept
}

func (t *Task) kept() *Task {
	kept := *t
	var lost bool
	if kept.Request, lost = withoutSecrets(t.Request); lost {
		kept.Redacted = true
	}
	if t.Own() {
		if kept.Definition, lost = withoutSecrets(t.Definition); lost {
			kept.Redacted = true
		}
	}
	return &kept
}

// Lacks reports whether the plan lost anything that its files can give back.
func (p *Plan) Lacks() bool {
	return p.Redacted || slices.ContainsFunc(p.Stages, func(s Stage) bool { return s.Task != nil && s.Task.Redacted })
}

// Supply gives a redacted plan the definitions of its files back, and its tasks
// what they are run with. It refuses files whose task definition is not the one
// that was planned; a step that is another by now stays as it is.
func (p *Plan) Supply(app *appfile.Application) bool {
	if app.Task == nil || definition.Digest(app.Task) != p.Digest {
		return false
	}
	whole, err := app.Task.JSON()
	if err != nil {
		return false
	}
	p.Task, p.Redacted = whole, false
	for i := range p.Stages {
		if t := p.Stages[i].Task; t != nil && t.Redacted {
			t.supply(app)
		}
	}
	return true
}

func (t *Task) supply(app *appfile.Application) {
	whole, err := t.of(app)
	if err == nil && whole != nil && whole.Digest == t.Digest {
		t.Definition, t.Request, t.Redacted = whole.Definition, whole.Request, false
	}
}

// of is the same task by the files; nil if they do not have it.
func (t *Task) of(app *appfile.Application) (*Task, error) {
	all := app.After
	switch t.When {
	case "":
		return newTask(app, "", nil, &definition.Run{}, app.Standalone.WatchContainer)
	case StepBefore:
		all = app.Before
	}
	for _, s := range all {
		if s.Name == t.Step {
			return stepTask(app, t.When, s)
		}
	}
	return nil, nil
}

// Registered reports whether the revision was there when the plan was made, so
// that nothing needs registering.
func (p *Plan) Registered() bool { return strings.Contains(p.To, ":") }

// withoutSecrets empties the strings under the keys whose values may be secret.
func withoutSecrets(data json.RawMessage) (json.RawMessage, bool) {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, true
	}
	lost := false
	empty(v, false, &lost)
	if !lost {
		return data, false
	}
	out, err := json.Marshal(v)
	if err != nil {
		return nil, true
	}
	return out, true
}

// empty walks to the values that may be secret; names of variables stay.
func empty(v any, secret bool, lost *bool) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if text, ok := x.(string); ok && secret && k != "name" && text != "" {
				v[k], *lost = "", true
				continue
			}
			empty(x, secret || k == "environment" || k == "options" || k == "driverOpts", lost)
		}
	case []any:
		for _, x := range v {
			empty(x, secret, lost)
		}
	}
}
