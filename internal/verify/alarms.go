package verify

import (
	"context"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/metrics"
)

// alarmUse is how a deployment uses an alarm.
type alarmUse struct {
	members      []string // that name it in the files
	missing      string   // what follows if it does not exist
	firing       string   // what follows if it is in ALARM
	isNeeded     bool     // the deployment cannot go on without it
	isOfPipeline bool     // only a deployment with the pipeline reads it
}

// checkAlarms requires deployment alarms that exist and are not in ALARM. AWS ignores an alarm that is in ALARM when a
// deployment begins (ECS Developer Guide, "How CloudWatch alarms detect Amazon ECS deployment failures").
func (c *checker) checkAlarms(ctx context.Context) {
	if c.app.Service == nil {
		return
	}
	c.readAlarms(ctx, AlarmNames(c.app.Service.Input), func(string) alarmUse {
		return alarmUse{members: []string{"alarmNames"}, missing: "it does not protect the deployment",
			firing: "ECS ignores it in this deployment"}
	})
}

// checkGateAlarms requires the alarms of gates: without its alarm a gate has no verdict, after the canary got requests.
func (c *checker) checkGateAlarms(ctx context.Context) {
	if c.app.Service == nil {
		return
	}
	var names []string
	uses := map[string]alarmUse{}
	for _, g := range c.app.AllGates() {
		name := g.Read.Alarm
		if name == "" {
			continue
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		uses[name] = alarmUse{[]string{"alarm", "alarms"}, "gate " + g.Name + " cannot judge", "gate " + g.Name + " fails",
			uses[name].isNeeded || !g.DryRun && g.OnError != appfile.Pass, true}
	}
	c.readAlarms(account.WithOptionalReads(ctx), names, func(name string) alarmUse { return uses[name] })
}

// readAlarms reads alarms and judges each.
func (c *checker) readAlarms(ctx context.Context, names []string, use func(name string) alarmUse) {
	if len(names) == 0 {
		return
	}
	before := len(c.all)
	all, err := c.aws.Alarms(ctx, names)
	switch {
	case isMissing(err):
		for _, name := range names {
			one, err := c.aws.Alarms(ctx, []string{name})
			c.judgeAlarm(ctx, name, use(name), one, err)
		}
	case c.judge("alarms "+strings.Join(names, ", "), err, "", ""):
		for i, name := range names {
			c.judgeAlarm(ctx, name, use(name), all[i:i+1], nil)
		}
	}
	for i := range c.all[before:] {
		c.all[before+i].IsOfPipeline = use(names[0]).isOfPipeline
	}
}

// judgeAlarm judges one alarm, as far as it was read.
func (c *checker) judgeAlarm(ctx context.Context, name string, use alarmUse, read []metrics.Alarm, err error) {
	subject := "alarm " + name
	c.at(name, use.members...)
	switch {
	case isMissing(err):
		report := c.warn
		if use.isNeeded {
			report = c.fail
		}
		there, next := c.otherAlarms(ctx, name)
		report(subject, "it does not exist, so "+use.missing+there, next)
	case !c.judge(subject, err, "", ""):
	case read[0].IsFiring():
		c.warn(subject, "it is in ALARM already, so "+use.firing,
			"find the reason first: aws cloudwatch describe-alarm-history --alarm-name "+name)
	default:
		c.ok(subject, read[0].State)
	}
}

// otherAlarms returns the alarms that exist instead of one that does not, and what to do.
func (c *checker) otherAlarms(ctx context.Context, name string) (there, next string) {
	names, _ := c.aws.AlarmNames(ctx) // a failed read only leaves the names out
	if len(names) > 0 {
		there = "; there is " + definition.ListNames(names)
	}
	if near := definition.Nearest(name, names); near != "" {
		return there, "correct its name: " + near + " exists"
	}
	return there, "correct its name in the files, or create the alarm in CloudWatch"
}
