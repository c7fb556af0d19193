package rehearse

import (
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/clock"
)

// Rehearsal is one running rehearsal. Users of the package see it only in an [Extension]. Its parts
// share the environment, the deployment and the report; each receives what else it needs from
// [newRehearsal].
type Rehearsal struct {
	Case       *Case
	Env        *Environment
	Deployment *Deployment
	Report     *Report

	// Parts that change the environment.
	Processes *Processes
	Acts      *Acts
	Seconds   *SecondSluices
	callers   *callers

	// Parts that check the promises.
	rules   *ruleChecks
	shares  *shareChecks
	records *recordChecks
	sets    *setChecks
	causes  *causeChecks
	Tasks   *TaskChecks
	Writes  *WriteChecks
	Scaling *ScalingChecks
	Ends    *EndChecks
	answers *answerChecks

	extension   Extension
	stageStarts map[string]time.Time
}

func newRehearsal(c Case, k clock.Clock) *Rehearsal {
	report := &Report{clock: k, start: k.Now()}
	env := &Environment{Case: &c, Clock: k, report: report}
	d := &Deployment{}
	f := &Rehearsal{Case: &c, Env: env, Deployment: d, Report: report, stageStarts: map[string]time.Time{}}
	f.Seconds = &SecondSluices{env: env, report: report}
	f.callers = &callers{env: env, report: report, deployment: d}
	f.sets = newSetChecks(env, report, d)
	f.Tasks = &TaskChecks{env: env, report: report, deployment: d, ByStarter: map[string][]*world.Task{}}
	f.Writes = &WriteChecks{env: env, report: report, deployment: d, sets: f.sets, seconds: f.Seconds}
	f.Scaling = &ScalingChecks{env: env, report: report, deployment: d, seconds: f.Seconds}
	f.rules = newRuleChecks(env, report)
	f.rules.writes, f.rules.scaling, f.rules.seconds = f.Writes, f.Scaling, f.Seconds
	f.shares = &shareChecks{env: env, report: report, deployment: d}
	f.records = &recordChecks{env: env, report: report, deployment: d, seconds: f.Seconds}
	f.causes = &causeChecks{env: env, report: report, reported: map[string]bool{}}
	f.Processes = &Processes{env: env, report: report, deployment: d, writes: f.Writes, extension: &f.extension,
		onEvent: f.onEvent}
	f.Acts = &Acts{env: env, report: report, processes: f.Processes, seconds: f.Seconds, writes: f.Writes,
		extension: &f.extension, acted: map[int]bool{}, scheduled: map[int]bool{}}
	f.Processes.onStageEnded = f.Acts.onStageEnded
	f.Ends = &EndChecks{env: env, report: report, deployment: d, acts: f.Acts, records: f.records, rules: f.rules,
		scaling: f.Scaling, seconds: f.Seconds, sets: f.sets, writes: f.Writes}
	f.answers = &answerChecks{env: env, report: report, deployment: d, acts: f.Acts, callers: f.callers, ends: f.Ends,
		seconds: f.Seconds}
	f.Acts.onAct = f.answers.stopWatch
	return f
}

// buildWorld builds the world and its callers.
func (f *Rehearsal) buildWorld() (err error) {
	images, serving, err := buildImages(f.Case, f.extension.AddImages)
	if err != nil {
		return err
	}
	f.Env.Sim, err = awssim.New(awssim.Options{Clock: f.Env.Clock, Seed: f.Case.Seed, Images: images, Strict: true,
		Direct:  !f.Case.Codec,
		Account: f.Case.World.Account, Region: f.Case.World.Region})
	if err != nil {
		return err
	}
	if err := f.Env.Sim.Load("world.yaml", f.Case.World.File(serving)); err != nil {
		return err
	}
	if f.extension.Build != nil {
		if err := f.extension.Build(); err != nil {
			return err
		}
	}
	f.Env.Sleep(f.Case.World.Scaling.Since)
	f.Env.InWorld(f.Env.findRoutes)
	f.Acts.performAll(Before)
	f.Env.InWorld(f.snapshotWorld)
	f.Env.Sim.World().AddInvariant(world.Invariant{Name: "rehearsal",
		CheckChange: func(tx *world.Tx, c world.Change) error { f.checkChange(tx, c); return nil }})
	f.callers.attachCallers()
	if f.Case.World.UsesCloudMap() {
		f.callers.attachNameCallers()
	}
	return nil
}

// LoadApplication reads the application. It sets the world's subnets in a user's own application.
func (c Case) LoadApplication() (*appfile.Application, error) {
	app, err := appfile.Load(c.Files, c.File, c.From)
	if err != nil || c.Generated || app.Service == nil {
		return app, err
	}
	if n := app.Service.Input.NetworkConfiguration; n != nil && n.AwsvpcConfiguration != nil {
		n.AwsvpcConfiguration.Subnets = c.World.Subnets
	}
	return app, nil
}

// snapshotWorld records the state of the world at the start.
func (f *Rehearsal) snapshotWorld(tx *world.Tx) {
	for _, r := range f.Env.forwardingRules(tx) {
		f.rules.initialActions[r.ARN] = slices.Clone(r.Actions)
		f.rules.weights[r.ARN] = f.Env.weightsOf(r)
	}
	for _, s := range tx.Services.Values() {
		for _, ts := range s.TaskSets {
			f.sets.initial[ts.ID] = true
		}
	}
	if s := f.Env.FindService(tx); s != nil {
		for _, ts := range s.TaskSets { // the first call on them may be refused before they change
			f.sets.checkUnique(ts)
		}
		f.Ends.desired = s.Desired
		if p := s.Primary(); p != nil {
			f.sets.oldID = p.ID
		}
	}
	f.Ends.unmanagedBefore, f.Scaling.expected = f.Ends.unmanagedText(tx), scalingOf(tx)
	f.Scaling.initial = f.Scaling.expected
}

// isUnhealthyRoute reports whether the plan is refused because another actor had edited a rule before it: a group
// that cannot serve has weight, or no rule names the group, and AWS refuses it.
func (c Case) isUnhealthyRoute(err error) bool {
	return c.hasActBefore(EditRule) && (strings.Contains(sluice.NextStep(err), "onUnhealthyRoute") ||
		strings.Contains(err.Error(), "is not attached to a load balancer"))
}

// isExchanged reports whether the plan is refused because the files name the groups the wrong way round. A rule that
// sends all its requests to the canary's group then seems to be one of production.
func (c Case) isExchanged(err error) bool {
	return c.Exchanged && (strings.Contains(err.Error(), "the primary target group") ||
		c.World.CanaryOnlyRule && strings.Contains(sluice.NextStep(err), "onUnhealthyRoute"))
}

// recordRefusal records the result of a case whose application cannot be deployed.
func (f *Rehearsal) recordRefusal(err error) {
	if f.Case.Generated && !f.Case.isUnhealthyRoute(err) && !f.Case.isExchanged(err) {
		f.Report.Fail("the case cannot be deployed: %v", err)
	}
	f.Report.Result.Cause, f.Report.Result.Next = err.Error(), sluice.NextStep(err)
}
