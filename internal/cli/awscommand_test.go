package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/sluice-ecs/sluice/awssim"
)

// runAWS makes the calls of a command of the AWS CLI that sluice printed, which may be several with &&.
func runAWS(sim *awssim.Sim, command string) error {
	ctx, ecs, elb := context.Background(), awsecs.NewFromConfig(sim.Config()), awselb.NewFromConfig(sim.Config())
	for _, one := range strings.Split(command, " && ") {
		arn, err := arnInside(ctx, elb, one)
		if err != nil {
			return err
		}
		words := shellWords(findsGroup.ReplaceAllString(one, arn))
		if len(words) < 3 || words[0] != "aws" {
			return fmt.Errorf("%q is not a command of the AWS CLI", one)
		}
		switch options := words[3:]; words[1] + " " + words[2] {
		case "ecs update-service":
			err = call(ctx, ecs.UpdateService, options)
		case "elbv2 create-target-group":
			err = call(ctx, elb.CreateTargetGroup, options)
		case "elbv2 modify-target-group":
			err = call(ctx, elb.ModifyTargetGroup, options)
		case "elbv2 modify-target-group-attributes":
			err = call(ctx, elb.ModifyTargetGroupAttributes, options)
		default:
			err = fmt.Errorf("the tests know no aws %s %s", words[1], words[2])
		}
		if err != nil {
			return fmt.Errorf("%s: %w", one, err)
		}
	}
	return nil
}

// findsGroup is the command inside another one that prints the ARN of a target group.
var findsGroup = regexp.MustCompile(`\$\(aws elbv2 describe-target-groups --names (\S+) ` +
	`--query 'TargetGroups\[0\]\.TargetGroupArn' --output text\)`)

// arnInside returns the ARN that the command inside a command prints; empty: there is none.
func arnInside(ctx context.Context, elb *awselb.Client, command string) (arn string, err error) {
	m := findsGroup.FindStringSubmatch(command)
	if m == nil {
		return "", nil
	}
	out, err := elb.DescribeTargetGroups(ctx, &awselb.DescribeTargetGroupsInput{Names: []string{m[1]}})
	if err != nil {
		return "", err
	}
	return *out.TargetGroups[0].TargetGroupArn, nil
}

// call makes a call of AWS with the options of its command.
func call[I, O, F any](ctx context.Context, f func(context.Context, *I, ...F) (*O, error), options []string) error {
	in := new(I)
	for len(options) > 0 {
		name, isOption := strings.CutPrefix(options[0], "--")
		n := 1
		for n < len(options) && !strings.HasPrefix(options[n], "--") {
			n++
		}
		field := reflect.ValueOf(in).Elem().FieldByNameFunc(func(s string) bool {
			return strings.EqualFold(s, strings.ReplaceAll(name, "-", ""))
		})
		if !isOption || !field.IsValid() || n == 1 {
			return fmt.Errorf("%q is no option with a value", options[0])
		}
		text := jsonOf(options[1:n], field.Type())
		if err := json.Unmarshal([]byte(text), field.Addr().Interface()); err != nil {
			return fmt.Errorf("%s %s: %w", options[0], text, err)
		}
		options = options[n:]
	}
	_, err := f(ctx, in)
	return err
}

// jsonOf returns the value of an option as JSON. The AWS CLI reads JSON, and Key=Value,Key=Value.
func jsonOf(values []string, t reflect.Type) string {
	if t.Kind() == reflect.Slice {
		all := make([]string, len(values))
		for i, v := range values {
			all[i] = jsonOf([]string{v}, t.Elem())
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	value := values[0]
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.String:
		return strconv.Quote(value)
	case t.Kind() != reflect.Struct || strings.HasPrefix(value, "{"):
		return value
	}
	members := map[string]string{}
	for _, m := range regexp.MustCompile(`(\w+)=("[^"]*"|[^,]*)`).FindAllStringSubmatch(value, -1) {
		members[m[1]] = strings.Trim(m[2], `"`)
	}
	text, _ := json.Marshal(members)
	return string(text)
}

// shellWords returns the words of a command, which may have single quotes.
func shellWords(command string) (words []string) {
	for _, w := range regexp.MustCompile(`(?:'[^']*'|[^\s'])+`).FindAllString(command, -1) {
		words = append(words, strings.ReplaceAll(w, "'", ""))
	}
	return words
}

func TestShellWords(t *testing.T) {
	got := shellWords(`aws x --a '{"b": 1}' --c HttpCode='"200,202"'`)
	if want := []string{"aws", "x", "--a", `{"b": 1}`, "--c", `HttpCode="200,202"`}; !reflect.DeepEqual(got, want) {
		t.Errorf("the words are %q, want %q", got, want)
	}
}
