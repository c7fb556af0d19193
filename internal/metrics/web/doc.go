// Package web reads a number or a boolean from any HTTP API that returns JSON, by an expression of
// jq.
//
// The value is that of now: such an API has no past. Start reading at [Source.Query].
package web
