// Package account is one AWS account in one Region: credentials, an assumed
// role, the endpoint, and the one gate before AWS.
//
// Every SDK client that sluice uses comes from an [Account], and every call of
// every client, STS included, passes the gate: permit → lease → rate → attempt →
// retry. A write that no [Action] lists is refused unsent; a write needs its
// claim seen just before it is sent; attempts keep to a share of AWS's request
// rates; what failed is repeated only if repeating cannot do harm. The SDK's own
// retries, its waiters and its random client tokens are off, because they follow
// neither the injected clock nor its seed.
//
// This package does not know what a deployment is, does not look before it
// repeats (the hands do) and keeps nothing on disk.
//
// The SDK wraps what leaves the gate in its OperationError; take the
// [sluice.Error] out of it with errors.As, or use [sluice.KindOf].
//
// Start reading at [Open], then gate.run.
package account
