package plan

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// predefined matches the deployment configurations that AWS made, other than all at
// once; their names tell how they shift (CodeDeploy User Guide, "Predefined
// deployment configurations for an Amazon ECS compute platform").
const predefined = `^CodeDeployDefault\.ECS(Canary|Linear)(\d+)Percent(?:Every)?(\d+)Minutes?$`

// shiftTakes is how long a deployment configuration takes from its first share of
// the traffic to the whole; ok is false if its name does not tell.
func shiftTakes(config string) (d time.Duration, ok bool) {
	if config == allAtOnce {
		return 0, true
	}
	m := regexp.MustCompile(predefined).FindStringSubmatch(config)
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

// lifecycle is about what CodeDeploy takes for its eight events beside starts,
// shifts and hooks, as seen.
const lifecycle = 25 * time.Second

// byCodeDeploy is a blue/green deployment of CodeDeploy's.
func (f *forecast) byCodeDeploy() time.Duration {
	c := f.plan.CodeDeploy
	if c == nil || !c.Deploys {
		return f.roll()
	}
	d, _ := shiftTakes(c.ConfigUsed)
	return f.rise() + lifecycle + d + c.Keeps
}

// assumesShift says what a forecast of such a deployment leaves out.
func (f *forecast) assumesShift() (all []string) {
	c := f.plan.CodeDeploy
	if c == nil || !c.Deploys {
		return nil
	}
	if _, ok := shiftTakes(c.ConfigUsed); !ok {
		all = append(all, fmt.Sprintf("the time between the steps of %s is not counted: only CodeDeploy knows it", c.ConfigUsed))
	}
	if len(c.Hooks) > 0 {
		all = append(all, "the hooks answer at once")
	}
	if c.Ready {
		all = append(all, "somebody continues it at once")
	}
	return all
}
