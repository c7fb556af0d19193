// Package sluice holds the words that every part of sluice shares: variants,
// weights, revisions, actions, outcomes, errors and events.
//
// They are small values of the standard library; nothing here does I/O, reads
// a clock or knows an AWS SDK type. Start reading at [Weights], [Outcome],
// [Error] and [Event]. The packages under internal/ act on these words; the
// local AWS lives in awssim and does not know them.
package sluice
