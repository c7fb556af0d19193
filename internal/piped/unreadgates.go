package piped

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/appfile/values"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// refuseUnreadGates refuses gates that no plugin would evaluate: PipeCD's own plugins read past the keys of sluice's
// gates, and gates of the whole pipeline judge only in stages of this plugin.
func (e *pluginEntry) refuseUnreadGates(file *definition.Source, spec *definition.Node) error {
	var all []error
	var serving []string // stages of other plugins in which the canary gets requests
	isShifted, isPromoted := false, false
	for _, item := range values.Items(spec.Get("pipeline").Get("stages")) {
		name := values.Text(item.Get("name"))
		isShifted = isShifted || name == appfile.StageTrafficRouting
		isPromoted = isPromoted || name == appfile.StagePrimaryRollout
		if !e.isForeign(name) {
			continue
		}
		if isShifted && !isPromoted {
			serving = append(serving, name)
		}
		for _, n := range unreadGates(name, item.Get("with")) {
			all = append(all, e.unreadError(file, n, name))
		}
	}
	if n := spec.Get("gates"); values.IsGiven(n) && len(serving) > 0 {
		all = append(all, e.unreadError(file, n, serving...))
	}
	return errors.Join(all...)
}

// unreadGates returns the gates of a stage of another plugin that this plugin does not read: those of a WAIT, and
// those keys of an ANALYSIS that only sluice has.
func unreadGates(stage string, with *definition.Node) (all []*definition.Node) {
	keys := []string{"gates"}
	if stage == appfile.StageAnalysis {
		keys = append(keys, "alarms", "commands")
		for _, m := range values.Items(with.Get("metrics")) {
			all = append(all, givenKeys(m, "signal", "bad", "all")...)
		}
	}
	return append(all, givenKeys(with, keys...)...)
}

func givenKeys(n *definition.Node, keys ...string) (all []*definition.Node) {
	for _, key := range keys {
		if v := n.Get(key); values.IsGiven(v) {
			all = append(all, v)
		}
	}
	return all
}

// unreadError is the error of gates that stages of other plugins would not evaluate.
func (e *pluginEntry) unreadError(file *definition.Source, n *definition.Node, stages ...string) error {
	slices.Sort(stages)
	stages = slices.Compact(stages)
	next := "move the gates to a stage ANALYSIS, and set analysis: true"
	if slices.Equal(stages, []string{appfile.StageWait}) {
		next = "set wait: true"
	}
	if slices.Equal(stages, []string{appfile.StageAnalysis}) {
		next = "set analysis: true"
	}
	return &sluice.Error{Op: "read the application", Resource: fmt.Sprintf("%s:%d", file.File, n.Line),
		Err:  fmt.Errorf("the gate is never evaluated: another plugin runs stage %s", strings.Join(stages, ", ")),
		Next: next + " under config of plugin " + e.Name + " in piped's configuration; or remove the gate"}
}
