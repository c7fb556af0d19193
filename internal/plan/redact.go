package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/secret"
)

// ForJournal returns the plan as a journal may store it. It removes the values of environments, of
// driver options, and values that look like a secret elsewhere, see package secret. A plan whose
// task definition lost values is Redacted and cannot register the definition. A redacted task
// cannot be started. [Plan.RestoreDefinitions] restores the values.
func (p *Plan) ForJournal() *Plan {
	kept := *p
	var lost bool
	if kept.Task, lost = withoutSecrets(p.Task, p.Hidden); lost {
		kept.Redacted = true
	}
	if len(p.Definition) > 0 && p.ServiceRedacted == "" {
		if kept.Definition, lost = withoutSecrets(p.Definition, p.Hidden); lost {
			kept.ServiceRedacted = serviceDigest(p.Definition)
		}
	}
	kept.Changes = maskChanges(p.Changes, p.Hidden)
	kept.Stages = slices.Clone(p.Stages)
	for i := range kept.Stages {
		if t := kept.Stages[i].Task; t != nil {
			kept.Stages[i].Task = t.forJournal(p.Hidden)
		}
	}
	return &kept
}

// maskChanges returns the changes without the values that are known to be secret.
func maskChanges(all []Change, hidden []string) []Change {
	if len(hidden) == 0 {
		return all
	}
	known, masked := secret.NewKnown(hidden...), slices.Clone(all)
	for i := range masked {
		masked[i].Have, masked[i].Want = known.Mask(masked[i].Have), known.Mask(masked[i].Want)
	}
	return masked
}

func (t *Task) forJournal(hidden []string) *Task {
	kept := *t
	var lost bool
	if kept.Request, lost = withoutSecrets(t.Request, hidden); lost {
		kept.Redacted = true
	}
	if t.HasOwnDefinition() {
		if kept.Definition, lost = withoutSecrets(t.Definition, hidden); lost {
			kept.Redacted = true
		}
	}
	return &kept
}

// NeedsFiles reports whether the plan lost values that its files can restore.
func (p *Plan) NeedsFiles() bool {
	return p.Redacted || p.ServiceRedacted != "" ||
		slices.ContainsFunc(p.Stages, func(s Stage) bool { return s.Task != nil && s.Task.Redacted })
}

// RestoreDefinitions restores the definitions and run requests of a redacted plan from its files.
// It rejects files whose task definition differs from the planned one. A step that differs by now
// stays redacted.
func (p *Plan) RestoreDefinitions(app *appfile.Application) bool {
	if app.Task == nil || definition.Digest(app.Task) != p.Digest {
		return false
	}
	whole, err := app.Task.JSON()
	if err != nil {
		return false
	}
	if p.ServiceRedacted != "" && !p.restoreService(app) {
		return false
	}
	p.Task, p.Redacted, p.Hidden = withPlannedTags(whole, p.Task), false, app.Secrets
	for i := range p.Stages {
		if t := p.Stages[i].Task; t != nil && t.Redacted {
			t.restoreFrom(app)
		}
	}
	return true
}

func (t *Task) restoreFrom(app *appfile.Application) {
	whole, err := t.rebuildFrom(app)
	if err == nil && whole != nil && whole.Digest == t.Digest {
		t.Definition, t.Request, t.Redacted = whole.Definition, whole.Request, false
	}
}

// rebuildFrom returns the same task made from the files; nil if the files do not have it.
func (t *Task) rebuildFrom(app *appfile.Application) (*Task, error) {
	all := app.After
	switch t.When {
	case "":
		return NewTask(app, "", nil, &definition.Run{}, app.Standalone.WatchContainer)
	case StepBefore:
		all = app.Before
	}
	for _, s := range all {
		if s.Name == t.Step {
			return NewStepTask(app, t.When, s)
		}
	}
	return nil, nil
}

// IsRegistered reports whether the revision existed when the plan was made, so it needs no
// registration.
func (p *Plan) IsRegistered() bool { return strings.Contains(p.To, ":") }

// withoutSecrets empties the strings under keys whose values may be secret, and those that contain a value that is
// known to be secret.
func withoutSecrets(data json.RawMessage, known []string) (json.RawMessage, bool) {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, true
	}
	lost := false
	clearSecrets(v, false, &lost)
	if len(known) > 0 {
		v = clearKnown(v, known, &lost)
	}
	if !lost {
		return data, false
	}
	out, err := json.Marshal(v)
	if err != nil {
		return nil, true
	}
	return out, true
}

// clearSecrets empties the values that may be secret; names of variables stay. hidden says that
// every value in v may be secret.
func clearSecrets(v any, hidden bool, lost *bool) {
	switch v := v.(type) {
	case map[string]any:
		isPair := secret.IsPair(v)
		for k, x := range v {
			if text, ok := x.(string); ok {
				if isSecret(k, text, hidden) || k == "value" && isPair {
					v[k], *lost = "", true
				}
				continue
			}
			if words, ok := stringList(x); ok {
				v[k] = clearSecretWords(k, words, lost)
				continue
			}
			clearSecrets(x, hidden || definition.IsSecretKey(k), lost)
		}
	case []any:
		for _, x := range v {
			clearSecrets(x, hidden, lost)
		}
	}
}

// clearKnown empties the strings that are a known value, or contain one of at least four characters: a shorter one
// occurs in most texts.
func clearKnown(v any, known []string, lost *bool) any {
	switch v := v.(type) {
	case string:
		for _, k := range known {
			if k != "" && (v == k || len(k) >= 4 && strings.Contains(v, k)) {
				*lost = true
				return ""
			}
		}
	case map[string]any:
		for k, x := range v {
			v[k] = clearKnown(x, known, lost)
		}
	case []string:
		for i, x := range v {
			v[i], _ = clearKnown(x, known, lost).(string)
		}
	case []any:
		for i, x := range v {
			v[i] = clearKnown(x, known, lost)
		}
	}
	return v
}

func isSecret(key, text string, hidden bool) bool {
	if hidden {
		return key != "name" && text != "" && !secret.IsHarmless(key)
	}
	return secret.Value(key, text) != text
}

// stringList returns v as a list of strings, such as a command.
func stringList(v any) ([]string, bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	out := make([]string, len(list))
	for i, x := range list {
		if out[i], ok = x.(string); !ok {
			return nil, false
		}
	}
	return out, true
}

func clearSecretWords(key string, words []string, lost *bool) []string {
	shown := secret.List(key, words)
	for i := range words {
		if words[i] != shown[i] {
			words[i], *lost = "", true
		}
	}
	return words
}

// serviceDigest identifies a service definition without its desired count, which can be given
// outside the file.
func serviceDigest(data json.RawMessage) string {
	var v map[string]any
	if json.Unmarshal(data, &v) != nil {
		return ""
	}
	delete(v, "desiredCount")
	if tags := tagsOf(v, func(key string) bool { return key != definition.TagRecord }); tags != nil {
		v["tags"] = tags
	} else {
		delete(v, "tags")
	}
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// restoreService restores the values of the service definition. The desired count stays as it was
// planned.
func (p *Plan) restoreService(app *appfile.Application) bool {
	if app.Service == nil {
		return false
	}
	data, err := app.Service.JSON()
	if err != nil || serviceDigest(data) != p.ServiceRedacted {
		return false
	}
	var whole, kept map[string]any
	if json.Unmarshal(data, &whole) != nil || json.Unmarshal(p.Definition, &kept) != nil {
		return false
	}
	delete(whole, "desiredCount")
	if n, ok := kept["desiredCount"]; ok {
		whole["desiredCount"] = n
	}
	if data, err = json.Marshal(whole); err != nil {
		return false
	}
	p.Definition, p.ServiceRedacted = withPlannedTags(data, p.Definition), ""
	return true
}

// withPlannedTags returns a definition of the files with the tags that the plan has beside theirs: tags of others that it
// keeps, and the record.
func withPlannedTags(files, planned json.RawMessage) json.RawMessage {
	var whole, kept map[string]any
	if json.Unmarshal(files, &whole) != nil || json.Unmarshal(planned, &kept) != nil {
		return files
	}
	own := map[string]bool{}
	tags := tagsOf(whole, func(key string) bool { own[key] = true; return true })
	more := tagsOf(kept, func(key string) bool { return !own[key] })
	if len(more) == 0 {
		return files
	}
	whole["tags"] = append(tags, more...)
	data, err := json.Marshal(whole)
	if err != nil {
		return files
	}
	return data
}

// tagsOf returns the tags of a definition whose keys fit.
func tagsOf(v map[string]any, fits func(key string) bool) (all []any) {
	list, _ := v["tags"].([]any)
	for _, x := range list {
		tag, _ := x.(map[string]any)
		if key, _ := tag["key"].(string); fits(key) {
			all = append(all, x)
		}
	}
	return all
}
