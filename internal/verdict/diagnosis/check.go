package diagnosis

import "cmp"

// Check is how a target group checks its targets. The zero value is not known.
type Check struct {
	Port  string // "traffic-port" is that of the target
	Path  string // empty: the check only connects
	Codes string // the HTTP or gRPC codes of a success
	// Changes describes how it differs from the one at the begin of the deployment; empty: it does not.
	Changes string
}

// CheckOf returns the check in the settings of a target group, by their words for users.
func CheckOf(settings map[string]string) Check {
	return Check{Port: settings["health check port"], Path: settings["health check path"], Codes: settings["success codes"]}
}

// hasOwnPort reports whether the check uses another port than the requests.
func (k Check) hasOwnPort() bool { return k.Port != "" && k.Port != "traffic-port" }

func (k Check) text() string {
	text := "the health check connects to port "
	if k.Path != "" {
		text = "the health check requests " + k.Path + " on port "
	}
	if text += cmp.Or(k.Port, "traffic-port"); k.Path != "" && k.Codes != "" {
		text += " and wants " + k.Codes
	}
	return text
}

// FailsCheck reports whether targets fail the health checks of their target group.
func (c Cause) FailsCheck() bool { return c.Kind == WrongPort || c.Kind == BalancerHealth }

// WithCheck returns the cause of targets that fail their health checks with the check that they fail. A check on a port of
// its own, and one that another process or person changed, have their own remedy.
func (c Cause) WithCheck(k Check) Cause {
	if k == (Check{}) || !c.FailsCheck() {
		return c
	}
	c.Text += "; " + k.text()
	switch {
	case k.Changes != "":
		c.Text += "; " + k.Changes
		c.Kind = CheckChanged
	case k.hasOwnPort():
		c.Kind = CheckPort
	}
	return c
}
