package verdict

import "time"

// CodeDeployment is a deployment as CodeDeploy returns it. Its times are AWS's.
type CodeDeployment struct {
	ID                 string // "d-XXXXXXXXX"
	Application, Group string
	Config             string // name of the deployment configuration
	Creator            string // user, codeDeployRollback …
	Description        string
	Status             string // Created, Queued, InProgress, Baking, Ready, Succeeded, Failed, Stopped
	Code, Message      string // of errorInformation

	RollbackID      string   // of the deployment that rolls this one back
	RollbackOf      string   // of the deployment that this one rolls back
	RollbackMessage string   // CodeDeploy's message about its rollback
	RollbackOn      []string // events that cause a rollback; nil: none

	SHA256 string // of its AppSpec; empty: unknown
	// how long it waits for ContinueDeployment before CodeDeploy stops it; 0: it continues by itself
	Ready       time.Duration
	Terminate   time.Duration // how long the original task set is kept after all traffic is moved
	KeepBlue    bool          // the original task set is not deleted at all
	Terminating bool          // that wait has begun

	CreatedAt, EndedAt time.Time
}

// Ended reports whether the deployment itself has ended; a rollback is a deployment of its own.
func (d CodeDeployment) Ended() bool {
	return d.Status == "Succeeded" || d.Status == "Failed" || d.Status == "Stopped"
}

// IsRollback reports whether CodeDeploy created it to roll another deployment back.
func (d CodeDeployment) IsRollback() bool {
	return d.RollbackOf != "" || d.Creator == "codeDeployRollback"
}

// CodeTarget is the service in a CodeDeploy deployment, with its progress.
type CodeTarget struct {
	Deployment  string // id
	Name        string // "<cluster>:<service>"
	Status      string // Pending, InProgress, Ready, Succeeded, Failed, Skipped, Unknown
	Events      []LifecycleEvent
	Blue, Green *CodeSet // the original and the replacement task set; nil: not created yet
}

// LifecycleEvent is one step of a deployment.
type LifecycleEvent struct {
	Name      string    `json:"name"`
	Status    string    `json:"status"`             // Pending, InProgress, Succeeded, Failed, Skipped, Unknown
	Function  string    `json:"function,omitempty"` // of its hook, if that failed
	Code      string    `json:"-"`                  // why it failed
	Message   string    `json:"message,omitempty"`
	StartedAt time.Time `json:"startedAt,omitzero"`
	EndedAt   time.Time `json:"endedAt,omitzero"`
}

// CodeSet is a task set in a deployment.
type CodeSet struct {
	ID                        string // "ecs-svc/<digits>"
	Status                    string // PRIMARY, ACTIVE, DRAINING
	Group                     string // name of its target group
	Weight                    float64
	Desired, Pending, Running int
	Revision                  string // family:revision; empty: unknown
}

// Event returns the lifecycle event with that name, or nil.
func (t *CodeTarget) Event(name string) *LifecycleEvent {
	if t == nil {
		return nil
	}
	for i := range t.Events {
		if t.Events[i].Name == name {
			return &t.Events[i]
		}
	}
	return nil
}

// LifecycleEventNames returns the names of the lifecycle events of ECS, in their order.
func LifecycleEventNames() []string {
	return []string{"BeforeInstall", "Install", "AfterInstall", "AllowTestTraffic", "AfterAllowTestTraffic",
		"BeforeAllowTraffic", "AllowTraffic", "AfterAllowTraffic"}
}

// HasPassed reports whether the lifecycle event has succeeded or is skipped.
func (t *CodeTarget) HasPassed(name string) bool {
	e := t.Event(name)
	return e != nil && (e.Status == "Succeeded" || e.Status == "Skipped")
}

// CurrentEvent returns the lifecycle event in progress, or nil.
func (t *CodeTarget) CurrentEvent() *LifecycleEvent {
	if t == nil {
		return nil
	}
	for i := range t.Events {
		if t.Events[i].Status == "InProgress" {
			return &t.Events[i]
		}
	}
	return nil
}

// FailedEvent returns the lifecycle event that failed, or nil.
func (t *CodeTarget) FailedEvent() *LifecycleEvent {
	if t == nil {
		return nil
	}
	for i := range t.Events {
		if t.Events[i].Status == "Failed" {
			return &t.Events[i]
		}
	}
	return nil
}

// ChangedSince returns the lifecycle events whose status differs from that of old.
func (t *CodeTarget) ChangedSince(old *CodeTarget) []LifecycleEvent {
	var news []LifecycleEvent
	if t == nil {
		return nil
	}
	for _, e := range t.Events {
		was := old.Event(e.Name)
		if was == nil && e.Status != "Pending" || was != nil && was.Status != e.Status {
			news = append(news, e)
		}
	}
	return news
}
