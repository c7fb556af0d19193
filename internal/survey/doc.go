// Package survey reads from AWS what a plan needs: the service, its task definitions, its target
// groups and rules, its Cloud Map name, its auto scaling and its deployment group. It makes no
// write, and it decides nothing: [mode.Make] does.
//
// Start reading at [ReadInputs].
package survey
