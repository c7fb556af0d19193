package piped

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
)

// pluginEntry is the plugin's entry in piped's configuration. piped passes it at the start.
type pluginEntry struct {
	Name          string          `json:"name"` // key of metadata, of spec.plugins, of deploy targets
	URL           string          `json:"url"`
	Port          int             `json:"port"`
	Config        json.RawMessage `json:"config"`
	DeployTargets []deployTarget  `json:"deployTargets"`

	settings pluginSettings
	problem  error // why nothing can be deployed with this entry
}

// pluginSettings are the plugin's own settings.
type pluginSettings struct {
	// Analysis makes the plugin run the stage ANALYSIS too. If two plugins of piped have a stage, the
	// later one in piped's configuration runs it.
	Analysis bool `json:"analysis"`
	// Wait makes the plugin run the stage WAIT too, so that its gates judge.
	Wait bool `json:"wait"`
	// AnalysisProviders are metric providers in the shape of piped's own analysisProviders. Only they may have
	// secrets.
	AnalysisProviders []analysisProvider `json:"analysisProviders"`
}

// analysisProvider is a metric provider. Package appfile checks its keys.
type analysisProvider struct {
	Name   string         `json:"name"`
	Type   string         `json:"type"`
	Config map[string]any `json:"config,omitempty"`
}

// providersFile returns the metric providers of the configuration as a file; nil: there are none.
func (s pluginSettings) providersFile() (*appfile.ProvidersFile, error) {
	if len(s.AnalysisProviders) == 0 {
		return nil, nil
	}
	data, err := json.Marshal(map[string]any{"analysisProviders": s.AnalysisProviders})
	if err != nil {
		return nil, err
	}
	return &appfile.ProvidersFile{Name: "config of this plugin in piped's configuration", Data: data}, nil
}

func (s pluginSettings) hasProvider(name string) bool {
	return slices.ContainsFunc(s.AnalysisProviders, func(p analysisProvider) bool { return p.Name == name })
}

// deployTarget is an account and Region to which applications are deployed.
type deployTarget struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels"`
	Config json.RawMessage   `json:"config"`

	access targetAccess
}

// targetAccess configures the access to a deploy target, with PipeCD's names.
type targetAccess struct {
	Region          string `json:"region"`
	Profile         string `json:"profile"`
	CredentialsFile string `json:"credentialsFile"`
	RoleARN         string `json:"roleARN"`   // assumed with the token, or with the other credentials
	TokenFile       string `json:"tokenFile"` // a web identity
}

// readEntry reads the value of --config. With an entry that has only a wrong key, the plugin can serve: each stage and
// each live state then has the reason. If the plugin ended instead, piped would wait for it without a word.
func readEntry(text string) (*pluginEntry, error) {
	e := &pluginEntry{}
	if err := json.Unmarshal([]byte(text), e); err != nil {
		return nil, configError("", fmt.Errorf("--config: %w", err))
	}
	switch {
	case e.Name == "":
		return nil, configError("", errors.New("the plugin has no name"))
	case e.Port < 1 || e.Port > 65535:
		return nil,
			configError(e.Name, fmt.Errorf(
				"port %d: a plugin needs a port from 1 to 65535, as piped waits for it without a limit", e.Port))
	}
	if err := e.readConfigs(); err != nil {
		e.problem = configError(e.Name, err)
	}
	return e, nil
}

// readConfigs reads the plugin's own configuration, and that of its deploy targets.
func (e *pluginEntry) readConfigs() error {
	if err := decodeStrict(e.Config, &e.settings); err != nil {
		_ = json.Unmarshal(e.Config, &e.settings) // for the names of the stages, whatever else is wrong
		return fmt.Errorf("config: %w: its keys are analysis and wait (true or false), and analysisProviders", err)
	}
	seen := map[string]bool{}
	for i := range e.DeployTargets {
		if err := e.DeployTargets[i].readConfig(seen); err != nil {
			return err
		}
	}
	return nil
}

func (t *deployTarget) readConfig(seen map[string]bool) error {
	switch {
	case t.Name == "":
		return errors.New("a deploy target has no name")
	case seen[t.Name]:
		return fmt.Errorf("deploy target %s is given twice", t.Name)
	}
	seen[t.Name] = true
	if err := decodeStrict(t.Config, &t.access); err != nil {
		return fmt.Errorf(
			"deploy target %s: config: %w: its keys are region, profile, credentialsFile, roleARN and tokenFile",
			t.Name, err)
	}
	switch a := t.access; {
	case a.Region == "":
		return fmt.Errorf("deploy target %s: config has no region", t.Name)
	case a.TokenFile != "" && a.RoleARN == "":
		return fmt.Errorf("deploy target %s: config has a tokenFile but no roleARN, the role that the token is for",
			t.Name)
	}
	return nil
}

// decodeStrict decodes JSON and refuses unknown keys. It ignores empty data and null.
func decodeStrict(data []byte, into any) error {
	if len(data) == 0 || string(data) == "null" {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more than one value")
	}
	return nil
}

func configError(plugin string, err error) error {
	return &sluice.Error{Op: "read the plugin's entry", Resource: plugin, Err: err,
		Next: "correct it under spec.plugins of piped's configuration, then restart piped"}
}

// findTarget returns the deploy target with that name.
func (e *pluginEntry) findTarget(name string) (*deployTarget, error) {
	if e.problem != nil {
		return nil, e.problem
	}
	for i := range e.DeployTargets {
		if e.DeployTargets[i].Name == name {
			return &e.DeployTargets[i], nil
		}
	}
	return nil, &sluice.Error{Op: "find the deploy target", Resource: name,
		Err:  fmt.Errorf("plugin %s has no deploy target of that name", e.Name),
		Next: "add it under spec.plugins[].deployTargets of piped's configuration and restart piped"}
}
