package piped

import (
	"regexp"
	"strings"
)

// The packages that the plugin shares with the command line advise its commands and flags. PipeCD has
// neither, so the plugin rewrites their advice: a deployment continues or starts again when PipeCD
// deploys again, and returns when PipeCD deploys the previous commit.

// rewording replaces a part of an advice or a warning.
type rewording struct {
	of *regexp.Regexp
	to string
}

// rewordings are applied in this order. testdata/advice.golden has the result for every advice.
var rewordings = compileRewordings([][2]string{
	// the deploy target has the Region and the credentials
	{`^set --region (\S+), or`, `choose a deploy target in $1, or`},
	{`^give --region, set AWS_REGION, or set region in the profile`,
		`set region in the configuration of the deploy target`},
	{`or give --profile\b`, `or set profile in the configuration of the deploy target`},
	{`^set --profile to`, `set profile in the configuration of the deploy target to`},
	{"the local AWS with `sluice sim`", `the local AWS`},
	{`--endpoint-url, AWS_ENDPOINT_URL`, `AWS_ENDPOINT_URL`},
	{"--endpoint-url at `sluice sim`", `AWS_ENDPOINT_URL at the local AWS`},

	// options of a deployment
	{`use --quick-sync, or remove the pipeline`, `choose quick sync, or remove the pipeline`},
	{`use --quick-sync and`, `choose quick sync and`},
	{`use --tasks 1 or more, or --quick-sync`, `set a desired count of 1 or more, or choose quick sync`},
	{`^raise the desired count: sluice scale --tasks (\S+)`, `raise the desired count to $1`},
	{` at once: sluice deploy --quick-sync`, ` by quick sync`},
	{`^remove --pipeline`, `choose quick sync`},
	{` \(to run the pipeline, use --pipeline\)`, ``},
	{`during --no-wait, a pause or PipeCD's own WAIT`, `during PipeCD's own WAIT`},
	{`use --suspend-auto-scaling`, `set input.suspendAutoScaling: true`},
	{`use sluice run, or set`, `set`},

	// alarms
	{`^read the alarm: aws cloudwatch describe-alarms --alarm-names (.+); then`,
		`read the alarm $1 in the console of CloudWatch, then`},

	// pauses of ECS
	{`(hook \S+ awaits an answer) by sluice continue`, `$1 (APPROVE continues the deployment)`},

	// other deployments
	{`^run sluice status to see the other deployment; .*`, `wait for the other deployment to end, then deploy again`},
	{`, or run sluice deploy --take-over$`, ``},
	{` \(see sluice status\), or end it: sluice deploy --take-over`,
		`, or end it with the tool that started it; then deploy again`},
	{`^wait for it: sluice wait --deployment \S+; or stop it and roll back: sluice rollback`,
		`wait for it to end, or stop it in the console of AWS CodeDeploy; then deploy again`},
	{`sluice approve, or aws deploy continue-deployment if another tool deploys`, `aws deploy continue-deployment`},
	{`sluice approve continues the deployment`, `aws deploy continue-deployment continues the deployment`},
	{`^run sluice wait to wait for the newer deployment.*`, `wait for the newer deployment`},
	{`^run sluice wait to see how the deployment ends`, `see in the console of AWS how the deployment ends`},

	// what runs
	{`^run sluice status to see what is running, or sluice rollback.*`,
		`see the live state of the application in PipeCD, or deploy the previous commit`},
	{`run sluice status to see what`, `read the log of the stage to see what`},
	{`run sluice status to see`, `read the live state of the application in PipeCD to see`},
	{`: sluice status( --events 20)?`, ` in the console of AWS`},

	// another attempt, and the way back
	{`; then deploy again, or roll back: sluice rollback`, `; then deploy again, or deploy the previous commit`},
	{`then run sluice resume; or run sluice rollback`, `then deploy again`},
	{`then run sluice (resume or sluice rollback|resume|rollback again|rollback)`, `then deploy again`},
	{`then run: sluice rollback \S+`, `then deploy again`},
	{`^run sluice rollback \S+ to restore.*`, `deploy the previous commit`},
	{`and run sluice deploy, which`, `and deploy again, which`},
	{`^run sluice resume to release it, or sluice deploy --take-over; or wait`, `wait`},
	{`^run sluice resume.*`, `deploy again`},
	{`the output of sluice plan`, `the log of the stage`},
})

func compileRewordings(all [][2]string) (list []rewording) {
	for _, r := range all {
		list = append(list, rewording{regexp.MustCompile(r[0]), r[1]})
	}
	return list
}

// withoutCommands returns a text that the command line shares, in the words of PipeCD.
func withoutCommands(text string) string {
	for _, r := range rewordings {
		text = r.of.ReplaceAllString(text, r.to)
	}
	return text
}

var (
	// awsCommand is a command of the AWS CLI, which has flags of its own.
	awsCommand = regexp.MustCompile(`\baws [a-z0-9-]+ [^;]*`)
	// ownCommand is a flag, or a command of sluice.
	ownCommand = regexp.MustCompile(`(^|[\s("])--[a-z]|\bsluice (abort|approve|deploy|history|plan|resume|rollback|run|` +
		`status|wait|--help)\b`)
)

// hasOwnCommand reports whether a text names a command or a flag of the command line.
func hasOwnCommand(text string) bool {
	return ownCommand.MatchString(awsCommand.ReplaceAllString(text, ""))
}

// commonAdvice replaces an advice that only the command line can follow.
const commonAdvice = "read the log of the stage, then deploy again"

// pipedAdvice returns an advice in the words of PipeCD. Of an advice that has several parts, it drops
// those that need the command line.
func pipedAdvice(next string) string {
	next = withoutCommands(next)
	if !hasOwnCommand(next) {
		return next
	}
	var keep []string
	for part := range strings.SplitSeq(next, "; ") {
		if !hasOwnCommand(part) {
			keep = append(keep, part)
		}
	}
	if len(keep) == 0 {
		return commonAdvice
	}
	return strings.TrimPrefix(strings.Join(keep, "; "), "or ")
}
