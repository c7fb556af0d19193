// Package printable makes text fit to leave sluice: for a terminal, a log, a CI
// system or JSON.
//
// Files, containers and AWS may give text that a terminal obeys (escape
// sequences), that hides what it says (direction marks), or that a CI system obeys
// (`::error::`). [Text] escapes these characters as JSON does, \u001b, so that
// both plain text and JSON stay what they are; it masks what looks like a secret,
// see package secret. [Writer] does so with everything that is written, but for
// the codes that sluice writes itself, which carry a [Mark].
//
// Start reading at [Text].
package printable
