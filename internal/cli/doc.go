// Package cli is the command line: the table of the commands, their help, and the exit code. The
// commands of a group of sluice --help are in the package of that group, one file for each command:
//
//   - internal/cli/deploy: the commands that change a service
//   - internal/cli/inspect: the commands that only read
//   - internal/cli/local: the commands that run the local AWS
//
// Package internal/cli/session has what these commands share, and package internal/cli/show turns
// events and plans into text.
//
// No package of the command line makes a decision about a deployment, and none reads from the
// terminal. Ctrl-C arrives as a signal, so that a pipe, a CI job and a terminal behave in the same
// way.
//
// Start reading at [Main].
package cli
