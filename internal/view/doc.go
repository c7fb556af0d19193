// Package view is what sluice sees around a service, as values with the time of their read. It reads nothing and
// writes nothing: package alb reads the rules and targets of a [Traffic].
//
// Start with [Traffic.Problems], which answers what callers get.
package view
