package shape

import (
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
