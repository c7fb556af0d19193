package forecast

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/sluice-ecs/sluice/internal/plan"
)

// predefinedConfig matches the predefined deployment configurations of AWS other than AllAtOnce.
// Their names state how they shift (CodeDeploy User Guide, "Predefined deployment configurations
// for an Amazon ECS compute platform").
const predefinedConfig = `^CodeDeployDefault\.ECS(Canary|Linear)(\d+)Percent(?:Every)?(\d+)Minutes?$`

// shiftDuration returns the time between the first share of the traffic and all of it. ok is false
// if the name of the configuration does not state it.
func shiftDuration(config string) (d time.Duration, ok bool) {
	if config == plan.AllAtOnce {
		return 0, true
	}
	m := regexp.MustCompile(predefinedConfig).FindStringSubmatch(config)
	if m == nil {
		return 0, false
	}
	percent, _ := strconv.Atoi(m[2])
	minutes, _ := strconv.Atoi(m[3])
	steps := 1
	if m[1] == "Linear" {
		steps = (100+percent-1)/percent - 1
	}
	return time.Duration(steps*minutes) * time.Minute, true
}

// IsPredefined reports whether AWS has a deployment configuration of that name in every account.
func IsPredefined(config string) bool {
	_, is := shiftDuration(config)
	return is
}

// lifecycleTime is about what CodeDeploy takes for its eight events in addition to starts, shifts
// and hooks (observed).
const lifecycleTime = 25 * time.Second

// CodeDeployTime returns the time of a blue/green deployment by CodeDeploy.
func (f *Estimate) CodeDeployTime(s plan.Stage) time.Duration {
	c := f.plan.CodeDeploy
	if c == nil || !c.Deploys {
		return f.RollingTime(s)
	}
	d, _ := shiftDuration(c.ConfigUsed)
	return f.taskStartTime() + lifecycleTime + d + c.Keeps
}

// shiftAssumptions returns the times that the forecast of such a deployment excludes.
func (f *Estimate) shiftAssumptions() (all []string) {
	c := f.plan.CodeDeploy
	if c == nil || !c.Deploys {
		return nil
	}
	if _, ok := shiftDuration(c.ConfigUsed); !ok {
		all = append(all, fmt.Sprintf("CodeDeploy does not pause between the steps of %s: only CodeDeploy knows how "+
			"long it does", c.ConfigUsed))
	}
	if len(c.Hooks) > 0 {
		all = append(all, "the hooks return immediately")
	}
	if c.Ready {
		all = append(all, "the approval is given immediately")
	}
	return all
}
