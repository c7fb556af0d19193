// Package alb shifts traffic on the listeners of load balancers: on the rules of an Application Load
// Balancer, and on the default actions of a Network Load Balancer, which has no rules. It finds the
// rules of a pair of target groups, reads their weights, and changes the weights without any other
// change to the rule.
//
// It writes a complete rule, because ModifyRule and ModifyListener replace the list of actions. It
// therefore keeps what it read: order, stickiness, authentication. It does not know tasks, health
// or deployments.
//
// Start reading at [ChooseRules], which selects the rules of the service, then [Driver].
package alb
