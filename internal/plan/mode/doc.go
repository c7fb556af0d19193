// Package mode makes plans: from an application and the state of AWS to a [plan.Plan]. A mode is a
// way of deploying.
//
// Each mode has a file with its rules: tasksets.go, canaryservice.go, rolling.go, codedeploy.go,
// task.go. Each access type has one too: access_elb.go, access_cloudmap.go, access_none.go. The
// other files are what all modes share; they ask the rules and compare no modes.
//
// To add a mode, add a row to the table in plan/modeproperties.go and a file with its rules here,
// then run the tests that begin with TestEveryMode: they name everything else.
//
// The package is pure: it takes values and returns values. It does not know how a stage does its
// work, only which writes the stage may make.
//
// Start reading at [Make] and at the type rules.
package mode
