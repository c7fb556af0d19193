// Package show turns events and plans into what people and programs read: lines, a progress view,
// JSON Lines, annotations of a CI system, the text of a plan. It knows events, plans and outcomes,
// but no AWS account, no flags and no commands.
//
// Every event has its words in eventtext.go. A new kind of event without words fails the tests.
//
// Start reading at [Terminal.NewRenderer], then eventtext.go and progressboard.go.
package show
