// Package account is one AWS account in one Region: credentials, an assumed role, the endpoint, and
// the gate that every AWS call passes.
//
// Every SDK client that sluice uses comes from an [Account], and every call of every client, STS
// included, passes the gate: permit → lease → rate → attempt → retry. The gate refuses a write that
// no [Action] lists and does not send it. A write needs a recent read of its claim just before it
// is sent. Attempts keep to a share of AWS's request rates. A failed call is repeated only if the
// repetition cannot do harm. The SDK's own retries, its waiters and its random client tokens are
// off, because they follow neither the injected clock nor its seed.
//
// This package does not know deployments, does not read the state before it repeats a call (its
// callers do) and stores nothing on disk.
//
// The SDK wraps errors of the gate in its OperationError. Get the [sluice.Error] with errors.As, or
// use [sluice.KindOf].
//
// Start reading at [Open], then gate.runCall.
package account
