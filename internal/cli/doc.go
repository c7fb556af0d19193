// Package cli is the command line: one file per verb, and the renderers that
// turn events into terminal lines, a live view, JSON Lines and CI annotations.
//
// It decides nothing about a deployment: it opens the account and the journal,
// asks package plan for a plan, lets package engine run it, and says what
// happened. Everything outside the process is reached through [Env].
//
// It does not read the terminal: Ctrl-C comes as a signal, so that a pipe, a CI
// job and a terminal behave alike.
//
// Start reading at [Main], then deploy.go and drive.go.
package cli
