package shape

import (
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice/internal/definition/appspec"
)

// UsesCodeDeploy reports whether CodeDeploy deploys the service.
func (w World) UsesCodeDeploy() bool { return w.Controller == "CODE_DEPLOY" }

// AgreeHook is the value of Hooks if all functions succeed. Otherwise one function fails, hangs or
// is missing: "fail:AfterInstall".
const AgreeHook = "agree"

// testPort is the port of the test listener, AlarmName the alarm of the deployment group.
const (
	testPort  = 8443
	AlarmName = "errors"
)

// HookFunction returns the function of a lifecycle event.
func (w World) HookFunction(event string) string {
	if how, at, _ := strings.Cut(w.Hooks, ":"); at == event && (w.Test || event != "AfterAllowTestTraffic") {
		return how
	}
	return AgreeHook
}

// HasFailingHook reports whether a function lets no version pass.
func (w World) HasFailingHook() bool {
	for _, e := range appspec.HookEvents() {
		if w.Hooks != "" && w.HookFunction(e) != AgreeHook {
			return true
		}
	}
	return false
}

// groupOptions returns these options of the deployment group in the world file.
func (w World) groupOptions() (more string) {
	if w.Ready > 0 {
		more += ", ready: " + w.Ready.String()
	}
	if w.Test {
		more += fmt.Sprintf(", testListener: \"%s:%d\"", balancerName(w.Balancer), testPort)
	}
	if w.Alarm {
		more += ", alarms: [" + AlarmName + "]"
	}
	return more
}

// writeFunctions writes the functions that hooks may name, without "missing".
func (w World) writeFunctions(line func(string, ...any)) {
	if w.Hooks != "" {
		line("functions:\n  - {name: %s, after: 2s}\n  - {name: fail, result: fail, after: 2s}\n  - {name: hang, "+
			"result: hang}", AgreeHook)
	}
}

// writeTestListener writes the test listener, which forwards to the primary group.
func (w World) writeTestListener(line func(string, ...any)) {
	if w.Test {
		line("      - port: %d\n        forward: {%s: 100}", testPort, w.Primary.Name())
	}
}
