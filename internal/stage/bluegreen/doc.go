// Package bluegreen runs deployments by CodeDeploy: it creates one, follows it to its end, and returns
// to the former revision. Start reading at [Deploy].
package bluegreen
