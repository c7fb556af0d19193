// Package alb steers the listener rules of an Application Load Balancer: which
// rules belong to a pair of target groups, what their weights are, and how to
// change those weights without touching anything else on the rule.
//
// It writes a rule whole, as the API demands (ModifyRule and ModifyListener
// replace the list of actions), and therefore keeps what it read: order,
// stickiness, authentication. It does not know tasks, health or deployments.
//
// Start reading at [Choose], which decides whose rules they are, then [Driver].
package alb
