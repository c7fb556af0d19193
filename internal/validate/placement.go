package validate

import (
	"strings"

	"github.com/sluice-ecs/sluice/internal/definition"
)

// checkPlacement refuses rules of placement that AWS refuses (ECS API Reference,
// "PlacementConstraint", "PlacementStrategy").
func (c *checker) checkPlacement(body *definition.Node) {
	for _, n := range itemsOf(body.Find("placementConstraints")) {
		expression := n.Find("expression")
		switch kind := n.Find("type"); {
		case !hasContent(kind):
		case kind.Text == "distinctInstance" && hasContent(expression):
			c.addProblem(expression, "remove it", "a placement constraint of type distinctInstance has no expression")
		case kind.Text == "memberOf" && !hasContent(expression):
			c.addProblem(n, "add expression", "a placement constraint of type memberOf has no expression")
		}
	}
	for _, n := range itemsOf(body.Find("placementStrategy")) {
		kind, field := n.Find("type"), n.Find("field")
		switch {
		case !hasContent(kind):
		case kind.Text == "random" && hasContent(field):
			c.addProblem(field, "remove it", "the placement strategy random has no field")
		case kind.Text == "binpack" && !isBinpackField(field):
			c.addProblem(n, "set field to cpu or memory", "the field of the placement strategy binpack is cpu or memory")
		}
	}
}

func isBinpackField(n *definition.Node) bool {
	return hasContent(n) && (strings.EqualFold(n.Text, "cpu") || strings.EqualFold(n.Text, "memory"))
}

// refuseSameBalancers refuses a target group that is given twice for one container port.
func (c *checker) refuseSameBalancers(items []*definition.Node) {
	seen := map[string]bool{}
	for _, n := range items {
		group := n.Find("targetGroupArn")
		if !hasContent(group) || !hasContent(n.Find("containerName")) || !hasContent(n.Find("containerPort")) {
			continue
		}
		key := group.Text + " " + n.Find("containerName").Text + " " + n.Find("containerPort").PlainNumber()
		if seen[key] {
			c.addProblem(group, "remove one of the two entries", "a target group is given twice for one container port")
		}
		seen[key] = true
	}
}
