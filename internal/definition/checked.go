package definition

import "github.com/aws/aws-sdk-go-v2/aws"

// Checked are the names of the containers that have a health check of their own.
func (t *Task) Checked() []string {
	var names []string
	for _, c := range t.Input.ContainerDefinitions {
		if c.HealthCheck != nil {
			names = append(names, aws.ToString(c.Name))
		}
	}
	return names
}
