// Package alb shifts traffic on the listener rules of an Application Load Balancer. It finds the
// rules of a pair of target groups, reads their weights, and changes the weights without any other
// change to the rule.
//
// It writes a complete rule, because ModifyRule and ModifyListener replace the list of actions. It
// therefore keeps what it read: order, stickiness, authentication. It does not know tasks, health
// or deployments.
//
// Start reading at [ChooseRules], which selects the rules of the service, then [Driver].
package alb
