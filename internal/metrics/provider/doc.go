// Package provider opens the sources of metric providers. Package appfile reads and checks their configuration, which has
// references to secrets and no secret.
//
// A new type of provider has a package beside this one, which passes the suite of package sourcetest and is opened in
// [Open]; a row in appfile's providers.go, with its keys; and a row in docs/reference/metrics.md.
package provider
