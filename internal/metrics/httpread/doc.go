// Package httpread sends the requests of metric providers: it limits responses, refuses redirects to
// other hosts, and makes errors of all other responses.
//
// It knows no provider, it has no timeout of its own, and it repeats nothing. Start reading at
// [Reader.Read].
package httpread
