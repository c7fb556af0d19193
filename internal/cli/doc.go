// Package cli is the command line. It has one file for each command, and the renderers that turn
// events into terminal lines, a progress view, JSON Lines and CI annotations.
//
// Package cli makes no decision about a deployment. It opens the account and the journal, gets a
// plan from package plan, runs the plan with package engine, and prints the result. It uses
// everything outside the process through [Env].
//
// Package cli does not read from the terminal. Ctrl-C arrives as a signal, so that a pipe, a CI
// job and a terminal behave in the same way.
//
// Start reading at [Main], then deploy.go and rundeployment.go.
package cli
