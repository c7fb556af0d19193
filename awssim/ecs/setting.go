package ecs

import (
	"context"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// defaultSettings are the values of a new account.
var defaultSettings = []struct{ name, value string }{
	{"awsvpcTrunking", "disabled"},
	{"containerInsights", "disabled"},
	{"containerInstanceLongArnFormat", "enabled"},
	{"defaultLogDriverMode", "non-blocking"},
	{"dualStackIPv6", "enabled"},
	{"fargateFIPSMode", "disabled"},
	{"fargateTaskRetirementWaitPeriod", "7"},
	{"guardDutyActivate", "off"},
	{"serviceLongArnFormat", "enabled"},
	{"tagResourceAuthorization", "off"},
	{"taskLongArnFormat", "enabled"},
}

// settingValues are the values that a setting may have (API Reference, PutAccountSetting). Others are
// not checked.
var settingValues = map[string][]string{
	"awsvpcTrunking": {"enabled", "disabled"}, "containerInsights": insights,
	"containerInstanceLongArnFormat": {"enabled", "disabled"}, "defaultLogDriverMode": {"blocking", "non-blocking"},
	"dualStackIPv6": {"enabled", "disabled"}, "fargateFIPSMode": {"enabled", "disabled"},
	"fargateTaskRetirementWaitPeriod": {"0", "7", "14"}, "guardDutyActivate": {"on", "off"},
	"serviceLongArnFormat": {"enabled", "disabled"}, "tagResourceAuthorization": {"on", "off"},
	"taskLongArnFormat": {"enabled", "disabled"},
}

func defaultSetting(name string) (string, bool) {
	for _, d := range defaultSettings {
		if d.name == name {
			return d.value, true
		}
	}
	return "", false
}

// allPrincipals is the principal under which account-wide defaults are stored.
const allPrincipals = ""

func settingKey(principal, name string) string { return principal + "\x00" + name }

// effectiveSetting returns the value of a setting for an account, without the settings of its
// users.
func effectiveSetting(tx *world.Tx, name string) string {
	if v, ok := stateOf(tx).settings.Get(settingKey(allPrincipals, name)); ok {
		return v
	}
	v, _ := defaultSetting(name)
	return v
}

func rootOf(tx *world.Tx) string { return tx.Key.GlobalARN("iam", "root") }

func principalOf(tx *world.Tx, given *string) string {
	if p := val(given); p != "" {
		return p
	}
	return rootOf(tx)
}

func settingShape(tx *world.Tx, principal, name, value string) ecstypes.Setting {
	if principal == allPrincipals {
		principal = rootOf(tx)
	}
	x := ecstypes.Setting{Name: ecstypes.SettingName(name), Value: ptr(value), PrincipalArn: ptr(principal),
		Type: "user"}
	if name == "guardDutyActivate" {
		x.Type = "aws_managed"
	}
	return x
}

// ListAccountSettings lists the values that were set, or with effectiveSettings the values in
// effect.
func (s *Service) ListAccountSettings(ctx context.Context,
	in *awsecs.ListAccountSettingsInput) (*awsecs.ListAccountSettingsOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.ListAccountSettingsOutput, error) {
		if val(in.Value) != "" && in.Name == "" {
			return nil, invalidParameter("A setting name must be specified together with a setting value.")
		}
		principal := principalOf(tx, in.PrincipalArn)
		var names []string
		for _, d := range defaultSettings {
			if v, ok := listedSetting(tx, principal, d.name, in.EffectiveSettings); ok &&
				(in.Name == "" || string(in.Name) == d.name) && (val(in.Value) == "" || *in.Value == v) {
				names = append(names, d.name)
			}
		}
		limit := 100
		if in.EffectiveSettings {
			limit = 10
		}
		page, next, err := pageOf(names, in.NextToken, int(in.MaxResults), limit)
		out := &awsecs.ListAccountSettingsOutput{Settings: []ecstypes.Setting{}, NextToken: next}
		for _, n := range page {
			v, _ := listedSetting(tx, principal, n, in.EffectiveSettings)
			out.Settings = append(out.Settings, settingShape(tx, principal, n, v))
		}
		return out, err
	})
}

// listedSetting returns the value of a setting for a principal, and whether the list includes it.
func listedSetting(tx *world.Tx, principal, name string, whole bool) (string, bool) {
	all := &stateOf(tx).settings
	if v, ok := all.Get(settingKey(principal, name)); ok {
		return v, true
	}
	if v, ok := all.Get(settingKey(allPrincipals, name)); ok && (whole || principal == rootOf(tx)) {
		return v, true
	}
	return effectiveSetting(tx, name), whole
}

func putSetting(ctx context.Context, s *Service, principal func(*world.Tx) string, name ecstypes.SettingName,
	value *string) (*ecstypes.Setting, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*ecstypes.Setting, error) {
		if _, ok := defaultSetting(string(name)); !ok {
			return nil, invalidParameter("Invalid setting name: %s", name)
		}
		if val(value) == "" {
			return nil, invalidParameter("Setting value cannot be empty.")
		}
		if valid, ok := settingValues[string(name)]; ok && !hasItem(valid, *value) {
			return nil, invalidParameter("Invalid setting 'value'")
		}
		p := principal(tx)
		stateOf(tx).settings.Put(settingKey(p, string(name)), *value)
		return ptr(settingShape(tx, p, string(name), *value)), nil
	})
}

// PutAccountSetting sets a value for one principal, by default the account's root.
func (s *Service) PutAccountSetting(ctx context.Context,
	in *awsecs.PutAccountSettingInput) (*awsecs.PutAccountSettingOutput, error) {
	x, err := putSetting(ctx, s, func(tx *world.Tx) string { return principalOf(tx, in.PrincipalArn) }, in.Name,
		in.Value)
	return &awsecs.PutAccountSettingOutput{Setting: x}, err
}

// PutAccountSettingDefault sets a value for every principal without its own value.
func (s *Service) PutAccountSettingDefault(ctx context.Context,
	in *awsecs.PutAccountSettingDefaultInput) (*awsecs.PutAccountSettingDefaultOutput, error) {
	x, err := putSetting(ctx, s, func(*world.Tx) string { return allPrincipals }, in.Name, in.Value)
	return &awsecs.PutAccountSettingDefaultOutput{Setting: x}, err
}

// DeleteAccountSetting deletes a principal's own value.
func (s *Service) DeleteAccountSetting(ctx context.Context,
	in *awsecs.DeleteAccountSettingInput) (*awsecs.DeleteAccountSettingOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.DeleteAccountSettingOutput, error) {
		if _, ok := defaultSetting(string(in.Name)); !ok {
			return nil, invalidParameter("Invalid setting name: %s", in.Name)
		}
		p := principalOf(tx, in.PrincipalArn)
		stateOf(tx).settings.Delete(settingKey(p, string(in.Name)))
		x := settingShape(tx, p, string(in.Name), effectiveSetting(tx, string(in.Name)))
		return &awsecs.DeleteAccountSettingOutput{Setting: &x}, nil
	})
}
