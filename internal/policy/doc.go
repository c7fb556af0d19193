// Package policy turns a plan into the least IAM policy that it needs: every write
// that the plan lists, its rollback's too, what AWS asks for behind them (iam:PassRole
// for roles, tags on what is made, Route 53 behind Cloud Map), and every read that the
// engine makes on the way.
//
// An action names the resources that it is for where AWS can tell them apart (Service
// Authorization Reference), and "*" elsewhere. What is made during the deployment has
// no ARN yet; it is named by a pattern, such as the task sets of the service.
//
// The package is pure: it takes a plan and what AWS has, and returns values.
//
// Start reading at [Of], then the table in writes.go.
package policy
