package stage

import (
	"reflect"
	"testing"

	"github.com/sluice-ecs/sluice/internal/plan"
)

func TestEveryModeHasCode(t *testing.T) {
	for _, m := range plan.Modes() {
		v := reflect.ValueOf(codeOf(m))
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if name == "adoptNote" { // a mode with variants removes its leftovers instead
				if m.HasService() && m.HasVariants() != v.Field(i).IsZero() {
					t.Errorf("mode %q: adoptNote is %q", m, v.Field(i))
				}
				continue
			}
			if v.Field(i).IsZero() {
				t.Errorf("mode %q: its code has no %s", m, name)
			}
		}
	}
}

func TestEveryAccessTypeHasCode(t *testing.T) {
	for _, a := range plan.AccessTypes() {
		if trafficCodeOf(a) == nil {
			t.Errorf("access type %q: stages cannot open its traffic", a)
		}
	}
}
