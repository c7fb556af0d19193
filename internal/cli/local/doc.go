// Package local has the commands to try sluice and to set it up, one file for each. sim serves the
// local AWS, demo deploys to it under load, and rehearse deploys to it in virtual time, with faults.
// init writes the files of an application.
//
// Start reading at [Commands].
package local
