package appfile

import (
	"strconv"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/internal/definition"
)

// percentOf returns a share in percent, written 10, "10" or "10%".
func percentOf(n *definition.Node) (int, bool) {
	if n == nil {
		return 0, false
	}
	if n.Kind == definition.Number {
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

// spanOf returns a duration above zero, in Go syntax.
func spanOf(n *definition.Node) (time.Duration, bool) {
	if n == nil || n.Kind != definition.Text {
		return 0, false
	}
	d, err := time.ParseDuration(n.Text)
	return d, err == nil && d > 0
}

// delayOf returns a duration of zero or more, in Go syntax.
func delayOf(n *definition.Node) (time.Duration, bool) {
	if n == nil || n.Kind != definition.Text {
		return 0, false
	}
	d, err := time.ParseDuration(n.Text)
	return d, err == nil && !strings.HasPrefix(n.Text, "-")
}

func spanOr(n *definition.Node, other time.Duration) time.Duration {
	if d, ok := spanOf(n); ok {
		return d
	}
	return other
}

// textOf returns the text of a node, or "" if there is none.
func textOf(n *definition.Node) string {
	if n == nil || n.Kind != definition.Text {
		return ""
	}
	return n.Text
}

func textOr(n *definition.Node, other string) string {
	if s := textOf(n); s != "" {
		return s
	}
	return other
}

func textsOf(n *definition.Node) []string {
	if n == nil {
		return nil
	}
	var all []string
	for _, item := range n.Items {
		all = append(all, textOf(item))
	}
	return all
}

func flagOr(n *definition.Node, other bool) bool {
	if n == nil || n.Kind != definition.Bool {
		return other
	}
	return n.Text == "true"
}

func integerOr(n *definition.Node, other int64) int64 {
	if n == nil {
		return other
	}
	if i, ok := n.Int(); ok {
		return i
	}
	return other
}

// isGiven reports whether a key is present and not empty.
func isGiven(n *definition.Node) bool {
	return n != nil && n.Kind != definition.Null
}
