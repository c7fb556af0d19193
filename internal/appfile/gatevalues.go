package appfile

import (
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/internal/definition"
)

// checkGateValue checks a value that only gates have.
func (c *checker) checkGateValue(n *definition.Node, s shape, path string) {
	ok, want := false, ""
	switch s.kind {
	case number:
		_, ok = numberOf(n)
		want = "a number"
	case ratio:
		x, is := numberOf(n)
		ok, want = is && x >= 1 && x <= 1000, "a number from 1 to 1000, such as 1.5"
	case fraction:
		_, ok = fractionOf(n)
		want = "a share above 0 and below 100%, such as \"1%\" or 0.01"
	case signal:
		_, ok = signalOf(n)
		want = "errors, or slower than a duration, such as \"slower than 500ms\""
	case webAddress:
		ok = n.Kind == definition.Text && isWebAddress(n.Text)
		want = "a URL that begins with https:// or http://"
		if !ok { // a URL may have a secret in it
			c.addSecretProblem(n, "%s is %s", path, want)
			return
		}
	case secretPlace:
		ok = n.Kind == definition.Text && IsSecretPlace(n.Text)
		want = "the place of a secret: env:NAME or ssm:/name"
		if !ok { // the value may be the secret itself
			c.addSecretProblem(n, "%s is %s", path, want)
			return
		}
	}
	if ok {
		return
	}
	got := n.Text
	if n.Kind == definition.Map || n.Kind == definition.List {
		got = n.Kind.String()
	}
	c.addProblem(n, "%s is %s, and this is %s", path, want, got)
}

// addSecretProblem adds a problem without the line of the file, which may show a secret.
func (c *checker) addSecretProblem(n *definition.Node, format string, args ...any) {
	c.addProblem(n, format, args...)
	c.problems[len(c.problems)-1].Source = ""
}

// numberOf returns a finite number.
func numberOf(n *definition.Node) (float64, bool) {
	if n == nil || n.Kind != definition.Number {
		return 0, false
	}
	x, ok := n.Float()
	if i, isInt := n.Int(); isInt {
		x, ok = float64(i), true
	}
	return x, ok && !math.IsNaN(x) && !math.IsInf(x, 0)
}

// fractionOf returns a share above 0 and below 1, written "1%" or 0.01.
func fractionOf(n *definition.Node) (float64, bool) {
	x, ok := numberOf(n)
	if n != nil && n.Kind == definition.Text {
		digits, isPercent := strings.CutSuffix(n.Text, "%")
		percent, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
		x, ok = percent/100, isPercent && err == nil
	}
	return x, ok && x > 0 && x < 1
}

// signalOf returns a metric of a load balancer.
func signalOf(n *definition.Node) (Signal, bool) {
	if n == nil || n.Kind != definition.Text {
		return Signal{}, false
	}
	if n.Text == "errors" {
		return Signal{}, true
	}
	limit, ok := strings.CutPrefix(n.Text, "slower than ")
	d, err := time.ParseDuration(strings.TrimSpace(limit))
	return Signal{SlowerThan: d}, ok && err == nil && d > 0 && d <= time.Hour
}

func isWebAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}

// IsSecretPlace reports whether a text names where a secret is.
func IsSecretPlace(text string) bool {
	ok, err := regexp.MatchString(`^(env:[A-Za-z_][A-Za-z0-9_]*|ssm:/?[A-Za-z0-9_./-]+)$`, text)
	return ok && err == nil
}

func mapOf(n *definition.Node) map[string]string {
	if n == nil || len(n.Entries) == 0 {
		return nil
	}
	all := map[string]string{}
	for _, e := range n.Entries {
		all[e.Key] = e.Value.Text
	}
	return all
}

// gateValueSchema returns the schema of a value that only gates have.
func gateValueSchema(s shape) map[string]any {
	switch s.kind {
	case number:
		return map[string]any{"type": []string{"number", "null"}}
	case ratio:
		return map[string]any{"type": []string{"number", "null"}, "minimum": 1, "maximum": 1000}
	case fraction:
		return map[string]any{"anyOf": []any{
			map[string]any{"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
			map[string]any{"type": "string", "pattern": `^[0-9]*\.?[0-9]+ *%$`},
			map[string]any{"type": "null"},
		}}
	case signal:
		return map[string]any{"type": []string{"string", "null"}, "pattern": "^(errors|slower than .+)$"}
	case webAddress:
		return map[string]any{"type": []string{"string", "null"}, "pattern": "^https?://[^/]+"}
	}
	return map[string]any{"type": []string{"string", "null"}, "pattern": "^(env:|ssm:).+$"}
}
