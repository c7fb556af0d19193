// Package sluice defines the types that every part of sluice shares: variants, weights, revisions,
// actions, outcomes, errors and events.
//
// They are small values of the standard library. The package does no I/O, reads no clock and uses
// no AWS SDK type. Start reading at [Weights], [Outcome], [Error] and [Event]. The packages under
// internal/ use these types; the local AWS lives in awssim and does not use them.
package sluice
