package definition

import (
	"strings"
	"testing"
)

// Keys of Docker Compose in a container are told with AWS's names.
func TestKeysOfComposeAreToldWithTheirMembers(t *testing.T) {
	for key, want := range map[string]string{"ports": "portMappings", "env_file": "environmentFiles",
		"volumes": "mountPoints"} {
		text := "family: web\ncontainerDefinitions:\n- {name: web, image: web, " + key + ": []}\n"
		_, err := DecodeTask("taskdef.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), `did you mean "`+want+`"`) {
			t.Errorf("key %s: got the error %v, want one that names %s", key, err, want)
		}
	}
}
