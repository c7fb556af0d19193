// Package deploy has the commands that change a service, one file for each: plan, deploy, run,
// resume, rollback, abort and approve.
//
// It gets a plan from package plan, runs the plan with package engine, and prints the result with
// package show. The order of a deployment is: prepare.go makes the plan, conflicts.go ends what owns
// the service, rundeployment.go runs the plan, and follow.go follows a plan that another process
// runs.
//
// Start reading at [Commands], then deploy.go and rundeployment.go.
package deploy
