// Package secret recognizes text that looks like a secret, and masks it.
//
// It is the one place that decides this: for the terminal, for logs, for the
// journal and for differences of definitions. It works by the names of values
// (PASSWORD, TOKEN) and by their shape (keys of AWS, JWTs, long random text). A
// secret without such a name or shape is not recognized; values under
// `environment` are never shown, whatever they look like.
//
// Start reading at [Mask] and [Value].
package secret
