// Package provider reads the configuration of metric providers, in the form of piped's
// analysisProviders, and opens their sources.
//
// A configuration has references to secrets and no secret: environment variables, parameters of
// Systems Manager, and files as piped has them. Its errors are sentences about one provider; the
// caller adds the place in the file. Start reading at [Parse], then [Provider.Open].
package provider
