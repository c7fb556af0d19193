package policy

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/sluice-ecs/sluice/internal/appfile"
)

// allowGateReads allows to read what the gates judge in AWS. IAM has no resources for the metrics.
func (b *builder) allowGateReads() {
	all := append([]appfile.Gate{}, b.plan.Gates...)
	for _, s := range b.plan.Stages {
		all = append(all, s.Gates...)
	}
	for _, g := range all {
		switch from := g.Read; {
		case from.Signal != nil:
			b.allowActions(readGates, []string{wildcard}, "cloudwatch:GetMetricData")
		case from.Alarm != "":
			b.allowActions(readGates, []string{wildcard}, "cloudwatch:DescribeAlarms")
		case from.Provider != nil:
			b.allowProvider(*from.Provider)
		case from.HTTPS != nil:
			for _, h := range from.HTTPS.Headers {
				b.allowSecret(h.Value)
			}
		}
	}
}

// allowProvider allows to query a metric provider in AWS, and to read the secrets of any.
func (b *builder) allowProvider(p appfile.Provider) {
	if p.Type == appfile.ProviderCloudWatch {
		b.allowActions(readGates, []string{wildcard}, "cloudwatch:GetMetricData")
	}
	if region, isSigned := p.Config.SigningRegion(); isSigned {
		b.allowActions(queryPrometheus, []string{b.workspaceARN(p.Config["address"], region)}, "aps:QueryMetrics")
	}
	for _, value := range p.Config {
		b.allowSecret(value)
	}
}

// allowSecret allows to read a parameter of Systems Manager, if the value is its place.
func (b *builder) allowSecret(value string) {
	if name, is := strings.CutPrefix(value, "ssm:"); is {
		b.allowActions(readGateSecrets, []string{b.resourceARN("ssm", "parameter/"+strings.TrimPrefix(name, "/"))},
			"ssm:GetParameter")
	}
}

// workspaceARN returns the ARN of a workspace of Amazon Managed Service for Prometheus, by the address of its API:
// https://aps-workspaces.REGION.amazonaws.com/workspaces/ID. An empty region is any.
func (b *builder) workspaceARN(address, region string) string {
	id := "*"
	if u, err := url.Parse(address); err == nil {
		if _, path, found := strings.Cut(u.Path, "/workspaces/"); found {
			id, _, _ = strings.Cut(path, "/")
		}
	}
	return b.arnInRegion("aps", cmp.Or(region, "*"), "workspace/"+id)
}
