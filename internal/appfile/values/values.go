// Package values reads values of application files: each function returns the value of a node that may be missing or of
// another kind.
package values

import (
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/internal/definition"
)

// Text returns the text of a node, or "" if there is none.
func Text(n *definition.Node) string {
	if n == nil || n.Kind != definition.Text {
		return ""
	}
	return n.Text
}

// TextOr returns the text of a node, or other if there is none.
func TextOr(n *definition.Node, other string) string {
	if s := Text(n); s != "" {
		return s
	}
	return other
}

// Texts returns the texts of a list.
func Texts(n *definition.Node) []string {
	if n == nil {
		return nil
	}
	var all []string
	for _, item := range n.Items {
		all = append(all, Text(item))
	}
	return all
}

// IsGiven reports whether a key is present and not empty.
func IsGiven(n *definition.Node) bool {
	return n != nil && n.Kind != definition.Null
}

// FlagOr returns a flag, or other if it is not given.
func FlagOr(n *definition.Node, other bool) bool {
	if n == nil || !n.IsFlag() {
		return other
	}
	return n.Text == "true"
}

// IntegerOr returns a whole number, or other if there is none.
func IntegerOr(n *definition.Node, other int64) int64 {
	if n == nil {
		return other
	}
	if i, ok := n.Int(); ok {
		return i
	}
	return other
}

// Count returns a whole number; nil if it is not given.
func Count(n *definition.Node) *int {
	if !IsGiven(n) {
		return nil
	}
	i := int(IntegerOr(n, 0))
	return &i
}

// Number returns a finite number.
func Number(n *definition.Node) (float64, bool) {
	if n == nil || !n.IsNumber() {
		return 0, false
	}
	x, ok := n.Float()
	if i, isInt := n.Int(); isInt {
		x, ok = float64(i), true
	}
	return x, ok && !math.IsNaN(x) && !math.IsInf(x, 0)
}

// Percent returns a share in percent, written 10, "10" or "10%".
func Percent(n *definition.Node) (int, bool) {
	if n == nil {
		return 0, false
	}
	if n.IsNumber() {
		i, ok := n.Int()
		return int(i), ok
	}
	digits := strings.TrimSuffix(n.Text, "%")
	if n.Kind != definition.Text || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	i, err := strconv.Atoi(digits)
	return i, err == nil
}

// Fraction returns a share above 0 and below 1, written "1%" or 0.01.
func Fraction(n *definition.Node) (float64, bool) {
	x, ok := Number(n)
	if n != nil && n.Kind == definition.Text {
		digits, isPercent := strings.CutSuffix(n.Text, "%")
		percent, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
		x, ok = percent/100, isPercent && err == nil
	}
	return x, ok && x > 0 && x < 1
}

// Span returns a duration above zero, in Go syntax.
func Span(n *definition.Node) (time.Duration, bool) {
	if n == nil || n.Kind != definition.Text {
		return 0, false
	}
	d, err := time.ParseDuration(n.Text)
	return d, err == nil && d > 0
}

// SpanOr returns a duration above zero, or other if there is none.
func SpanOr(n *definition.Node, other time.Duration) time.Duration {
	if d, ok := Span(n); ok {
		return d
	}
	return other
}

// Delay returns a duration of zero or more, in Go syntax.
func Delay(n *definition.Node) (time.Duration, bool) {
	if n == nil || n.Kind != definition.Text {
		return 0, false
	}
	d, err := time.ParseDuration(n.Text)
	return d, err == nil && !strings.HasPrefix(n.Text, "-")
}

// DelayIfGiven returns a duration of zero or more; nil if it is not given.
func DelayIfGiven(n *definition.Node) *time.Duration {
	if d, ok := Delay(n); ok {
		return &d
	}
	return nil
}

// Items returns the entries of a list.
func Items(n *definition.Node) []*definition.Node {
	if n == nil {
		return nil
	}
	return n.Items
}

// Entries returns the keys of a map with their values.
func Entries(n *definition.Node) []definition.Entry {
	if n == nil {
		return nil
	}
	return n.Entries
}

// Map returns a map of texts; nil if it is empty.
func Map(n *definition.Node) map[string]string {
	if n == nil || len(n.Entries) == 0 {
		return nil
	}
	all := map[string]string{}
	for _, e := range n.Entries {
		all[e.Key] = e.Value.Text
	}
	return all
}

// IsWebAddress reports whether a text is a URL of http or https.
func IsWebAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}

// IsSecretPlace reports whether a text names where a secret is.
func IsSecretPlace(text string) bool {
	ok, err := regexp.MatchString(`^(env:[A-Za-z_][A-Za-z0-9_]*|ssm:/?[A-Za-z0-9_./-]+)$`, text)
	return ok && err == nil
}

// IsReference reports whether a value of a gate or of a metric provider may be read from elsewhere, whatever name follows:
// env:NAME, ssm:/name or the ARN of a parameter, and file:path.
func IsReference(text string) bool {
	kind, name, _ := strings.Cut(text, ":")
	return name != "" && (kind == "env" || kind == "ssm" || kind == "file")
}
