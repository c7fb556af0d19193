// Package discovered routes requests by a Cloud Map name: the share of a variant is its part of the
// registered tasks. Start reading at [Open].
package discovered
