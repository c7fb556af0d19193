// Package iam asks AWS IAM whether the caller may do what a policy allows, by
// SimulatePrincipalPolicy, which makes none of the calls that it is asked about.
//
// IAM simulates the policies of users and roles with their permissions boundary and the
// organization's service control policies. It does not know session policies, nor the
// policies of resources.
//
// Start reading at [Hand.Check].
package iam
