package mode

import (
	"reflect"
	"slices"
	"testing"

	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// emptyFields returns the names of the fields of a struct that are nil or empty. A bool has no empty
// value.
func emptyFields(v reflect.Value, prefix string) (all []string) {
	for i := range v.NumField() {
		f, name := v.Field(i), prefix+v.Type().Field(i).Name
		switch {
		case f.Kind() == reflect.Bool:
		case f.Kind() == reflect.Struct:
			all = append(all, emptyFields(f, name+".")...)
		case f.IsZero():
			all = append(all, name)
		}
	}
	return all
}

func TestEveryModeHasRules(t *testing.T) {
	for _, m := range plan.Modes() {
		r := rulesOf(m)
		if r.mode != m {
			t.Errorf("mode %q has no rules: add them to allRules", m)
			continue
		}
		for _, name := range emptyFields(reflect.ValueOf(r), "") {
			t.Errorf("mode %q: its rules have no %s", m, name)
		}
	}
	for _, r := range allRules() {
		if !slices.Contains(plan.Modes(), r.mode) {
			t.Errorf("mode %q has rules and no row in plan's table of modes", r.mode)
		}
	}
}

func TestEveryAccessTypeHasRules(t *testing.T) {
	for _, a := range plan.AccessTypes() {
		r := accessRulesOf(a)
		if r.access != a {
			t.Errorf("access type %q has no rules: add them to allAccessRules", a)
			continue
		}
		for _, name := range emptyFields(reflect.ValueOf(r), "") {
			t.Errorf("access type %q: its rules have no %s", a, name)
		}
	}
	for _, r := range allAccessRules() {
		if !slices.Contains(plan.AccessTypes(), r.access) {
			t.Errorf("access type %q has rules and no row in plan's table of access types", r.access)
		}
	}
}

func TestEveryBalancerTypeHasRules(t *testing.T) {
	for _, b := range plan.BalancerTypes() {
		r := balancerRulesOf(b)
		if r.kind != b {
			t.Errorf("load balancers of type %q have no rules: add them to allBalancerRules", b)
			continue
		}
		for _, name := range emptyFields(reflect.ValueOf(r), "") {
			t.Errorf("load balancers of type %q: their rules have no %s", b, name)
		}
		if b.Name() == "" || b.Unit() == "" || (&plan.Plan{Balancer: b}).ShiftPropagation() == 0 {
			t.Errorf("load balancers of type %q have no name, unit or propagation in plan's table", b)
		}
	}
	for _, r := range allBalancerRules() {
		if !slices.Contains(plan.BalancerTypes(), r.kind) {
			t.Errorf("load balancers of type %q have rules and no row in plan's table", r.kind)
		}
	}
}

func TestEveryHostingHasAMode(t *testing.T) {
	for _, h := range appfile.Hostings() {
		if !slices.ContainsFunc(plan.Modes(), func(m plan.Mode) bool { return m.Hosting() == h }) {
			t.Errorf("hosting %q has no mode", h)
		}
	}
	for _, m := range plan.Modes() {
		if h := m.Hosting(); h != "" && !slices.Contains(appfile.Hostings(), h) {
			t.Errorf("mode %q: files do not know its hosting %q", m, h)
		}
	}
}
