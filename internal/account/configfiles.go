package account

import (
	"cmp"
	"os"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/sluice-ecs/sluice"
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
