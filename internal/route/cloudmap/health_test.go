package cloudmap

import (
	"testing"

	sdtypes "github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"
)

// No health yet is not HEALTHY: a record of a task whose container check has not passed
// was registered as UNHEALTHY.
func TestTheHealthOfANewInstanceIsTheOneItWasRegisteredWith(t *testing.T) {
	for _, c := range []struct {
		first string
		known sdtypes.HealthStatus
		want  bool
	}{
		{"UNHEALTHY", "", false},
		{"HEALTHY", "", true},
		{"", "", true},
		{"UNHEALTHY", "HEALTHY", true},
		{"HEALTHY", "UNHEALTHY", false},
		{"", "UNHEALTHY", false},
	} {
		attributes := map[string]string{}
		if c.first != "" {
			attributes[initHealthKey] = c.first
		}
		if got := isHealthy(attributes, c.known); got != c.want {
			t.Errorf("registered %q, shown %q: healthy is %v, want %v", c.first, c.known, got, c.want)
		}
	}
}
