//go:build unix

package account_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
)

// A named pipe would block the SDK without an end. Each file that a variable names is checked, and the default ones.
func TestConfigurationIsReadFromRegularFilesOnly(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "pipe")
	fail(t, syscall.Mkfifo(fifo, 0o600))
	for _, variable := range []string{"AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CA_BUNDLE", "AWS_WEB_IDENTITY_TOKEN_FILE"} {
		for path, kind := range map[string]string{fifo: "a named pipe", dir: "a folder", "/dev/zero": "a device"} {
			noFields(t, "", "AWS_REGION=us-east-1", key, "AWS_SECRET_ACCESS_KEY=s", variable+"="+path)
			_, err := withUnanswered(&wire{}, func(c *account.Config) { c.HTTPClient = nil })
			if err == nil || !strings.Contains(err.Error(), path+"): it is "+kind) ||
				!strings.Contains(sluice.NextStep(err), "set "+variable+" to a regular file") {
				t.Errorf("%s=%s: %v", variable, path, err)
			}
		}
	}
	noFields(t, "", "AWS_REGION=us-east-1", key, "AWS_SECRET_ACCESS_KEY=s", "AWS_CONFIG_FILE="+os.DevNull,
		"AWS_SHARED_CREDENTIALS_FILE="+filepath.Join(dir, "none"))
	if _, err := withUnanswered(&wire{}, nil); err != nil {
		t.Errorf("the null device: %v", err)
	}
}

func fail(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
