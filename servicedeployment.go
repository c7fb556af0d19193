package sluice

// IsServiceDeploymentOver reports whether a status of an ECS service deployment is final (ECS API Reference,
// ServiceDeployment). An empty status, and one that sluice does not know, is not.
func IsServiceDeploymentOver(status string) bool {
	switch status {
	case "SUCCESSFUL", "STOPPED", "ROLLBACK_SUCCESSFUL", "ROLLBACK_FAILED":
		return true
	}
	return false
}

// IsServiceDeploymentRunning reports whether an ECS service deployment with this status still changes the service. An
// empty status means that AWS keeps no such deployment.
func IsServiceDeploymentRunning(status string) bool {
	return status != "" && !IsServiceDeploymentOver(status)
}

// IsServiceDeploymentRollingBack reports whether ECS rolls back a service deployment with this status.
func IsServiceDeploymentRollingBack(status string) bool {
	return status == "ROLLBACK_REQUESTED" || status == "ROLLBACK_IN_PROGRESS"
}
