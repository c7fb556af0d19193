// Package local has the commands that run the local AWS, one file for each: sim serves it, demo
// deploys to it under load, and rehearse deploys to it in virtual time, with faults.
//
// Start reading at [Commands].
package local
