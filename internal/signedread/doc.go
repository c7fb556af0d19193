// Package signedread reads from services of AWS of which sluice needs one or two operations each: Secrets Manager,
// Systems Manager, ECR, Lambda, S3, CloudFormation and EC2. It builds the requests and decodes the responses itself,
// because the SDK's clients of these services would add more than 20 MB to a program.
//
// It does not sign or send: the account does, through its gate. It writes nothing.
//
// A resource that does not exist is an error of kind [sluice.NotFound]. Start reading at [Reader].
package signedread
