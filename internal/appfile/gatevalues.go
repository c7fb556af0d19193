package appfile

import (
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/internal/appfile/values"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// checkGateValue checks a value that only gates have.
func (c *checker) checkGateValue(n *definition.Node, s shape, path string) {
	ok, want := false, ""
	switch s.kind {
	case number:
		_, ok = values.Number(n)
		want = "a number"
	case ratio:
		x, is := values.Number(n)
		ok, want = is && x >= 1 && x <= 1000, "a number from 1 to 1000, such as 1.5"
	case fraction:
		_, ok = values.Fraction(n)
		want = "a share above 0 and below 100%, such as \"1%\" or 0.01"
	case signal:
		_, ok = signalOf(n)
		want = "errors, or slower than a duration from 1ms to 1h, such as \"slower than 500ms\""
	case webAddress:
		ok = n.Kind == definition.Text && values.IsWebAddress(n.Text)
		want = "a URL that begins with https:// or http://"
		if !ok { // a URL may have a secret in it
			c.addSecretProblem(n, "%s is %s", path, want)
			return
		}
	case secretPlace:
		ok = n.Kind == definition.Text && values.IsSecretPlace(n.Text)
		want = "the place of a secret: env:NAME or ssm:/name"
		if !ok { // the value may be the secret itself
			c.addSecretProblem(n, "%s is %s", path, want)
			return
		}
	}
	if ok {
		return
	}
	c.addProblem(n, "%s is %s, and this is %s", path, want, valueText(n, s.kind))
}

// addSecretProblem adds a problem without the line of the file, which may show a secret.
func (c *checker) addSecretProblem(n *definition.Node, format string, args ...any) {
	c.addProblem(n, format, args...)
	c.problems[len(c.problems)-1].Source = ""
}

// signalOf returns a metric of a load balancer. Load balancers measure milliseconds.
func signalOf(n *definition.Node) (Signal, bool) {
	if n == nil || n.Kind != definition.Text {
		return Signal{}, false
	}
	if n.Text == "errors" {
		return Signal{}, true
	}
	limit, ok := strings.CutPrefix(n.Text, "slower than ")
	d, err := time.ParseDuration(strings.TrimSpace(limit))
	return Signal{SlowerThan: d}, ok && err == nil && d >= time.Millisecond && d <= time.Hour
}
