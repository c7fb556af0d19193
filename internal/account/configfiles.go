package account

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/filekind"
)

// checkConfigFiles returns an error if a file of the SDK's configuration is no regular file. The SDK would read it as
// empty, or wait for a named pipe without an end. A file that does not exist is left to the SDK.
func (c Config) checkConfigFiles() error {
	env, err := config.NewEnvConfig()
	if err != nil {
		return nil // the SDK reports it with the other variables
	}
	for _, f := range []struct{ variable, path string }{
		{"AWS_CONFIG_FILE", cmp.Or(env.SharedConfigFile, config.DefaultSharedConfigFilename())},
		{"AWS_SHARED_CREDENTIALS_FILE", cmp.Or(c.CredentialsFile, env.SharedCredentialsFile,
			config.DefaultSharedCredentialsFilename())},
		{"AWS_CA_BUNDLE", env.CustomCABundle},
		{"AWS_WEB_IDENTITY_TOKEN_FILE", cmp.Or(c.TokenFile, env.WebIdentityTokenFilePath)},
	} {
		if err := checkConfigFile(f.path); err != nil {
			return &sluice.Error{Op: "read AWS configuration", Resource: f.path, Err: err,
				Next: "set " + f.variable + " to a regular file"}
		}
	}
	return nil
}

// checkConfigFile accepts the null device, which is used in place of an empty file.
func checkConfigFile(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	if null, err := os.Stat(os.DevNull); err == nil && os.SameFile(info, null) {
		return nil
	}
	return filekind.Check(info)
}

// missingProfileError returns the error of a profile that no file of the SDK's configuration has. It names those that exist.
func (c Config) missingProfileError(name string) error {
	told := &sluice.Error{Op: "read AWS configuration", Resource: name, Err: errors.New("there is no such profile"),
		Next: "set --profile to a profile that `aws configure list-profiles` lists"}
	variable := "--profile"
	if c.Profile == "" {
		told.Err, variable = errors.New("there is no such profile, which AWS_PROFILE names"), "AWS_PROFILE"
		told.Next = "set AWS_PROFILE to a profile that `aws configure list-profiles` lists, or unset it"
	}
	all := c.profiles()
	if len(all) == 0 {
		return told
	}
	told.Err = fmt.Errorf("%w; there are %s", told.Err, definition.ListNames(all))
	if near := definition.Nearest(name, all); near != "" {
		told.Next = "set " + variable + " to " + near
	}
	return told
}

// profileHeader matches the first line of a profile. A file of credentials has no word "profile".
var profileHeader = regexp.MustCompile(`(?m)^[ \t]*\[[ \t]*(?:profile[ \t]+)?([^\]\s]+)[ \t]*\]`)

// profiles returns the names of the profiles in the files of the SDK's configuration. A file that cannot be read has none.
func (c Config) profiles() (all []string) {
	env, err := config.NewEnvConfig()
	if err != nil {
		return nil
	}
	for _, path := range []string{cmp.Or(env.SharedConfigFile, config.DefaultSharedConfigFilename()),
		cmp.Or(c.CredentialsFile, env.SharedCredentialsFile, config.DefaultSharedCredentialsFilename())} {
		text, _ := os.ReadFile(path)
		for _, header := range profileHeader.FindAllSubmatch(text, -1) {
			if name := string(header[1]); !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}
