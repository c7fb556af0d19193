package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/signedread"
)

// SecretRef is where a container gets a secret from, as [ParseSecret] returns it.
type SecretRef struct {
	subject              string
	IsParameter          bool
	Region               string // empty: that of the service
	ID                   string // name or ARN
	Key, Stage, Versions string // of a secret of Secrets Manager: JSON key, stage, version
}

// ParseSecret parses valueFrom of a secret (ECS API Reference, Secret): the ARN of a secret of Secrets Manager with
// ":<key>:<stage>:<version>" or without, or the name or ARN of a parameter.
func ParseSecret(valueFrom string) (SecretRef, error) {
	r := SecretRef{ID: valueFrom, IsParameter: true}
	if !strings.HasPrefix(valueFrom, "arn:") {
		return r, nil
	}
	a, err := parseARN(valueFrom)
	if err != nil {
		return r, err
	}
	r.Region = a.region
	switch a.service {
	case "ssm":
		return r, nil
	case "secretsmanager":
		parts := strings.Split(a.resource, ":") // secret:<name>[:<key>:<stage>:<version>]
		if len(parts) != 2 && len(parts) != 5 || parts[0] != "secret" {
			return r, fmt.Errorf("%s: it needs :<key>:<stage>:<version> after the name, or nothing", valueFrom)
		}
		r.IsParameter = false
		if len(parts) == 5 {
			r.Key, r.Stage, r.Versions = parts[2], parts[3], parts[4]
			r.ID = strings.TrimSuffix(valueFrom, ":"+strings.Join(parts[2:], ":"))
		}
		return r, nil
	}
	return r, fmt.Errorf("%s: a secret is in Secrets Manager or in Systems Manager, not in %s", valueFrom, a.service)
}

// checkSecrets requires the secrets and parameters of all containers.
func (c *checker) checkSecrets(ctx context.Context) {
	parameters := map[string][]SecretRef{} // by Region
	seen := map[string]bool{}
	for _, s := range Secrets(c.task.ContainerDefinitions) {
		if seen[s.ValueFrom] {
			continue
		}
		seen[s.ValueFrom] = true
		c.at(s.ValueFrom)
		r, err := ParseSecret(s.ValueFrom)
		r.subject = "secret " + s.Name
		switch {
		case err != nil:
			c.fail(r.subject, err.Error(), "correct valueFrom in "+c.app.Task.File)
		case r.IsParameter:
			parameters[r.Region] = append(parameters[r.Region], r)
		default:
			c.checkSecret(ctx, r)
		}
	}
	for _, region := range slices.Sorted(maps.Keys(parameters)) {
		c.checkParameters(ctx, region, parameters[region])
	}
}

// checkSecret requires a secret of Secrets Manager. It reads the value only to check a JSON key, and does not keep it.
func (c *checker) checkSecret(ctx context.Context, r SecretRef) {
	reader, err := c.aws.in(ctx, r.Region)
	if err == nil && (r.Key == "" && r.Stage == "" && r.Versions == "" || !c.options.Secrets) {
		_, err = reader.SecretARN(ctx, r.ID)
		if c.judgeSecret(r, err) {
			c.ok(r.subject, "exists in Secrets Manager")
		}
		return
	}
	var value string
	if err == nil {
		value, err = reader.SecretValue(ctx, r.ID, r.Stage, r.Versions)
	}
	if !c.judgeSecret(r, err) {
		return
	}
	var members map[string]json.RawMessage
	switch {
	case r.Key == "":
		c.ok(r.subject, "exists in Secrets Manager")
	case json.Unmarshal([]byte(value), &members) != nil:
		c.fail(r.subject, "the value of "+nameOf(r.ID)+" is not a JSON object, so it has no key "+r.Key,
			"leave the key out of valueFrom, or store JSON")
	case members[r.Key] == nil:
		c.fail(r.subject, "the value of "+nameOf(r.ID)+" has no key "+r.Key, "correct the key in valueFrom")
	default:
		c.ok(r.subject, "exists in Secrets Manager, with the key "+r.Key)
	}
}

func (c *checker) judgeSecret(r SecretRef, err error) bool {
	return c.judge(r.subject, err, nameOf(r.ID)+" does not exist in Secrets Manager, or has no such value",
		"create it, or correct valueFrom: aws secretsmanager describe-secret --secret-id "+r.ID)
}

// nameOf returns the name in the ARN of a secret or a parameter.
func nameOf(id string) string {
	if _, name, ok := strings.Cut(id, ":secret:"); ok {
		return name
	}
	if _, name, ok := strings.Cut(id, ":parameter"); ok {
		return name
	}
	return id
}

// checkParameters requires parameters of one Region. It does not decrypt them.
func (c *checker) checkParameters(ctx context.Context, region string, all []SecretRef) {
	reader, err := c.aws.in(ctx, region)
	var missing []string
	if err == nil {
		missing, err = missingParameters(ctx, reader, all)
	}
	for _, r := range all {
		c.at(r.ID)
		switch {
		case err != nil:
			c.judge(r.subject, err, "", "")
		case slices.Contains(missing, r.ID):
			c.fail(r.subject, nameOf(r.ID)+" does not exist in Systems Manager",
				"create it, or correct valueFrom: aws ssm get-parameter --name "+r.ID)
		default:
			c.ok(r.subject, "exists in Systems Manager")
		}
	}
}

func missingParameters(ctx context.Context, reader signedread.Reader, all []SecretRef) ([]string, error) {
	var names []string
	for _, r := range all {
		names = append(names, r.ID)
	}
	missing, err := reader.MissingParameters(ctx, names)
	if sluice.KindOf(err) == sluice.NotFound {
		return names, nil
	}
	return missing, err
}
