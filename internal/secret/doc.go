// Package secret recognizes text that looks like a secret, and masks it.
//
// It is the only place that decides this: for the terminal, for logs, for the journal and for
// differences of definitions. It uses the names of values (PASSWORD, TOKEN) and their shape (keys
// of AWS, JWTs, long random text). It does not recognize a secret without such a name or shape.
// Values under `environment` are never shown, whatever they look like.
//
// Start reading at [Mask] and [Value].
package secret
