// Package definition decodes task and service definitions, fills in what AWS
// fills in, and compares. It is the only comparison of definitions there is.
//
// A definition keeps AWS's own shape: the request types of the AWS SDK. Every
// member that the built-in SDK knows passes whole; any other key is refused
// with its place in the file. The package is pure: it takes bytes and values and
// returns values. It does not read files, call AWS, or decide what a difference
// leads to.
//
// Start reading at [DecodeTask] and [CompareTask]; [Parse] is the reader of
// files below both, and of the application files of package appfile.
package definition

import (
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
)

// Task is a task definition as a file gives it.
type Task struct {
	Input *awsecs.RegisterTaskDefinitionInput
	File  string // as given to [DecodeTask]
}

// Service is a service definition as a file gives it. What the file leaves out
// is left out of Input too: a nil DesiredCount is not to be written, a DesiredCount
// of 0 is.
type Service struct {
	Input *awsecs.CreateServiceInput
	// Given holds the top-level members that the file gives, by the SDK's JSON
	// name ("desiredCount"). clusterArn and roleArn are given as "cluster" and
	// "role"; a cluster that the application file gives instead is given too.
	Given map[string]bool
	File  string // as given to [DecodeService]
}

// Difference is one member that differs once AWS's defaults are filled in. Want
// and Have are for people: short, and without values that may be secret.
type Difference struct {
	Path string // "containerDefinitions[web].image"
	Want string // what the file asks for
	Have string // what AWS has
}
