package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
)

// HealthCheck are the settings of the health check of a target group, by the words for users: "path", "success codes".
type HealthCheck map[string]string

// NewHealthCheck returns those of the settings of a target group that are about its health check.
func NewHealthCheck(settings map[string]string) HealthCheck {
	check := HealthCheck{}
	for name, value := range settings {
		short, isCheck := strings.CutPrefix(name, "health check ")
		if isCheck || name == "success codes" || strings.HasSuffix(name, " threshold") {
			check[short] = value
		}
	}
	return check
}

// CheckChanges describes how the health check of a group differs from the one of this earlier read; empty: it does not, or
// one of them was not read.
func (t Traffic) CheckChanges(group string, now HealthCheck) string {
	g, ok := t.group(group)
	if !ok || g.Check == nil || now == nil {
		return ""
	}
	names := slices.Sorted(maps.Keys(g.Check))
	for _, name := range slices.Sorted(maps.Keys(now)) {
		names = WithGroup(names, name)
	}
	var all []string
	for _, name := range names {
		if was, is := g.Check[name], now[name]; was != is {
			all = append(all, fmt.Sprintf("%s %s → %s", name, orNone(was), orNone(is)))
		}
	}
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprintf("the health check of %s was changed during the deployment: %s", sluice.TargetGroupName(group),
		strings.Join(all, ", "))
}

func orNone(value string) string { return cmp.Or(value, "none") }
