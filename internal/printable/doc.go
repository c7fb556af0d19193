// Package printable makes text safe for output: to a terminal, a log, a CI system or JSON.
//
// Text of files, containers and AWS may contain characters that control a terminal (escape
// sequences) or a CI system (`::error::`). Other characters hide a part of the text (direction
// marks). [Text] escapes all these characters as JSON does, \u001b, so that plain text and JSON
// stay readable. It also masks text that looks like a secret, see package secret. [Writer] does
// this with all its input, except for the codes that sluice writes itself, which carry a
// [CodePrefix].
//
// Start reading at [Text].
package printable
