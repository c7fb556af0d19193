package codedeployer

import (
	"strings"
	"testing"
	"time"
)

func TestTheOrderOfADeployment(t *testing.T) {
	const plain = "BeforeInstall Install AfterInstall | BeforeAllowTraffic AllowTraffic AfterAllowTraffic "
	hook := []Hook{{Event: "AfterAllowTestTraffic", Function: "f"}}
	wait := time.Minute
	for _, c := range []struct {
		name string
		d    Deployment
		want string
	}{
		{"plain", Deployment{}, strings.Replace(plain, "| ", "", 1)},
		{"a test listener", Deployment{Settings: Settings{Test: "arn"}},
			strings.Replace(plain, "|", "AllowTestTraffic AfterAllowTestTraffic", 1)},
		{"a hook without a test listener", Deployment{Spec: Spec{Hooks: hook}},
			strings.Replace(plain, "|", "AllowTestTraffic AfterAllowTestTraffic", 1)},
		{"a wait", Deployment{Settings: Settings{Ready: &wait}}, strings.Replace(plain, "|", "-", 1)},
	} {
		got := ""
		for _, st := range lifecycleSteps(&c.d) {
			if st.event == "" {
				st.event = "-"
			}
			got += st.event + " "
		}
		if got != c.want+"- " {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}

func TestTheNameOfAFunction(t *testing.T) {
	for given, want := range map[string]string{
		"check": "check", "check:live": "check", "arn:aws:lambda:us-east-1:123456789012:function:check": "check",
		"arn:aws:lambda:us-east-1:123456789012:function:check:7": "check",
	} {
		if got := lastPart(given); got != want {
			t.Errorf("%s: %s", given, got)
		}
	}
}
