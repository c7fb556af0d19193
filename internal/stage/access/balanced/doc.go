// Package balanced routes requests by the weights of two target groups of a load balancer. Start
// reading at [Open].
package balanced
