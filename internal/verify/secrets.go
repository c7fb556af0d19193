package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/signedread"
)

// secretRef is where a container gets a secret from.
type secretRef struct {
	subject              string
	isParameter          bool
	region               string // empty: that of the service
	id                   string // name or ARN
	key, stage, versions string // of a secret of Secrets Manager: JSON key, stage, version
}

// parseSecret parses valueFrom of a secret (ECS API Reference, Secret): the ARN of a secret of Secrets Manager with
// ":<key>:<stage>:<version>" or without, or the name or ARN of a parameter.
func parseSecret(valueFrom string) (secretRef, error) {
	r := secretRef{id: valueFrom, isParameter: true}
	if !strings.HasPrefix(valueFrom, "arn:") {
		return r, nil
	}
	a, err := parseARN(valueFrom)
	if err != nil {
		return r, err
	}
	r.region = a.region
	switch a.service {
	case "ssm":
		return r, nil
	case "secretsmanager":
		parts := strings.Split(a.resource, ":") // secret:<name>[:<key>:<stage>:<version>]
		if len(parts) != 2 && len(parts) != 5 || parts[0] != "secret" {
			return r, fmt.Errorf("%s: it needs :<key>:<stage>:<version> after the name, or nothing", valueFrom)
		}
		r.isParameter = false
		if len(parts) == 5 {
			r.key, r.stage, r.versions = parts[2], parts[3], parts[4]
			r.id = strings.TrimSuffix(valueFrom, ":"+strings.Join(parts[2:], ":"))
		}
		return r, nil
	}
	return r, fmt.Errorf("%s: a secret is in Secrets Manager or in Systems Manager, not in %s", valueFrom, a.service)
}

// checkSecrets requires the secrets and parameters of all containers.
func (c *checker) checkSecrets(ctx context.Context) {
	parameters := map[string][]secretRef{} // by Region
	seen := map[string]bool{}
	c.eachSecret(func(name, valueFrom string) {
		if seen[valueFrom] {
			return
		}
		seen[valueFrom] = true
		r, err := parseSecret(valueFrom)
		r.subject = "secret " + name
		switch {
		case err != nil:
			c.fail(r.subject, err.Error(), "correct valueFrom in "+c.app.Task.File)
		case r.isParameter:
			parameters[r.region] = append(parameters[r.region], r)
		default:
			c.checkSecret(ctx, r)
		}
	})
	for _, region := range slices.Sorted(maps.Keys(parameters)) {
		c.checkParameters(ctx, region, parameters[region])
	}
}

// eachSecret calls f with the name and the place of each secret.
func (c *checker) eachSecret(f func(name, valueFrom string)) {
	c.containers(func(d ecstypes.ContainerDefinition) {
		all := slices.Clone(d.Secrets)
		if d.LogConfiguration != nil {
			all = append(all, d.LogConfiguration.SecretOptions...)
		}
		for _, s := range all {
			f(aws.ToString(s.Name)+" of container "+aws.ToString(d.Name), aws.ToString(s.ValueFrom))
		}
		if r := d.RepositoryCredentials; r != nil {
			f("of the registry of container "+aws.ToString(d.Name), aws.ToString(r.CredentialsParameter))
		}
	})
}

// checkSecret requires a secret of Secrets Manager. It reads the value only to check a JSON key, and does not keep it.
func (c *checker) checkSecret(ctx context.Context, r secretRef) {
	reader, err := c.aws.in(ctx, r.region)
	if err == nil && (r.key == "" && r.stage == "" && r.versions == "" || !c.options.Secrets) {
		_, err = reader.SecretARN(ctx, r.id)
		if c.judgeSecret(r, err) {
			c.ok(r.subject, "exists in Secrets Manager")
		}
		return
	}
	var value string
	if err == nil {
		value, err = reader.SecretValue(ctx, r.id, r.stage, r.versions)
	}
	if !c.judgeSecret(r, err) {
		return
	}
	var members map[string]json.RawMessage
	switch {
	case r.key == "":
		c.ok(r.subject, "exists in Secrets Manager")
	case json.Unmarshal([]byte(value), &members) != nil:
		c.fail(r.subject, "the value of "+nameOf(r.id)+" is not a JSON object, so it has no key "+r.key,
			"leave the key out of valueFrom, or store JSON")
	case members[r.key] == nil:
		c.fail(r.subject, "the value of "+nameOf(r.id)+" has no key "+r.key, "correct the key in valueFrom")
	default:
		c.ok(r.subject, "exists in Secrets Manager, with the key "+r.key)
	}
}

func (c *checker) judgeSecret(r secretRef, err error) bool {
	return c.judge(r.subject, err, nameOf(r.id)+" does not exist in Secrets Manager, or has no such value",
		"create it, or correct valueFrom: aws secretsmanager describe-secret --secret-id "+r.id)
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
func (c *checker) checkParameters(ctx context.Context, region string, all []secretRef) {
	reader, err := c.aws.in(ctx, region)
	var missing []string
	if err == nil {
		missing, err = missingParameters(ctx, reader, all)
	}
	for _, r := range all {
		switch {
		case err != nil:
			c.judge(r.subject, err, "", "")
		case slices.Contains(missing, r.id):
			c.fail(r.subject, nameOf(r.id)+" does not exist in Systems Manager",
				"create it, or correct valueFrom: aws ssm get-parameter --name "+r.id)
		default:
			c.ok(r.subject, "exists in Systems Manager")
		}
	}
}

func missingParameters(ctx context.Context, reader signedread.Reader, all []secretRef) ([]string, error) {
	var names []string
	for _, r := range all {
		names = append(names, r.id)
	}
	missing, err := reader.MissingParameters(ctx, names)
	if sluice.KindOf(err) == sluice.NotFound {
		return names, nil
	}
	return missing, err
}
