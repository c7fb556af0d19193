// Package policy computes the least IAM policy that a plan needs. The policy allows every write of
// the plan and of its rollback, and every read of the engine. It also allows the indirect actions
// that AWS checks for these writes: iam:PassRole for roles, tags on created resources, Route 53
// behind Cloud Map.
//
// An action names its resources where IAM supports resource-level permissions (Service
// Authorization Reference), and "*" elsewhere. A resource that the deployment creates has no ARN
// yet. A pattern names it, such as the task sets of the service.
//
// The package is pure: it takes a plan and the state of AWS, and returns values. It calls no API
// and checks no permission; package iam does.
//
// Start reading at [ForPlan], then the table in writes.go.
package policy
