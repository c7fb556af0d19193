// Package iam checks with IAM whether the caller has the permissions of a policy. It uses
// SimulatePrincipalPolicy, which makes none of the simulated calls.
//
// IAM simulates the policies of users and roles with their permissions boundary and the service
// control policies of the organization. It does not simulate session policies or resource policies.
//
// Start reading at [Checker.Check].
package iam
