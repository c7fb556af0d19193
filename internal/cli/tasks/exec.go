package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/upkeep"
)

// sessionPlugin is the program of AWS that connects the terminal to a session.
const sessionPlugin = "session-manager-plugin"

// execFlags are the flags of sluice exec.
type execFlags struct {
	id, container, command string
	forward                bool
	port, localPort        int
	host, ports            string // ports: LOCAL:HOST:PORT
}

func (p *program) newExecCommand() *cobra.Command {
	var at session.ApplicationFlag
	var o execFlags
	c := &cobra.Command{
		Use:   "exec [DIR | CLUSTER/SERVICE | -c FILE]",
		Short: "Run a command in a container of a running task",
		Long: `Run a command in a container of a running task, by ECS Exec. It needs
session-manager-plugin, a program of AWS, and enableExecuteCommand in the service
definition. Without --id, it asks which task is meant, if there are several.

With --port-forward, it forwards a port of the container, or of a host that the
container reaches, to this machine until Ctrl-C.`,
		Example: `  sluice exec examples/canary
  sluice exec prod/web
  sluice exec --id 0123abcd --container web --command 'ls -l'
  sluice exec --port-forward --port 80 --local-port 8080`,
		Args: session.AtMost(1, "give the command in quotes: --command 'ls -l'"),
		RunE: at.Run(func(c *cobra.Command, path string) error { return p.runExec(c.Context(), path, o) }),
	}
	at.Register(c)
	f := c.Flags()
	f.StringVar(&o.id, "id", "", "the task with this `ID`, or its first characters")
	f.StringVar(&o.container, "container", "", "`name` of the container, if the task has several")
	f.StringVar(&o.command, "command", "sh", "the command")
	f.BoolVar(&o.forward, "port-forward", false, "forward a port of the container to this machine")
	f.IntVar(&o.port, "port", 0, "with --port-forward: the `number` of the container's port")
	f.IntVar(&o.localPort, "local-port", 0, "with --port-forward: the `number` of the port on this machine (default: a free one)")
	f.StringVar(&o.host, "host", "", "with --port-forward: a `host` that the container reaches, instead of the container")
	f.StringVarP(&o.ports, "forward", "L", "", "with --port-forward: LOCAL:HOST:PORT in one `text`")
	return c
}

func (p *program) runExec(ctx context.Context, path string, o execFlags) error {
	if err := o.check(); err != nil {
		return err
	}
	t, err := p.open(ctx, path)
	if err != nil {
		return err
	}
	target, err := p.execTarget(ctx, t, o)
	if err != nil {
		return err
	}
	if p.Env.FindProgram == nil || p.Env.FindProgram(sessionPlugin) != nil {
		return &sluice.Error{Op: o.does(), Resource: target.Task,
			Err:  fmt.Errorf("%s is not installed; no session was started", sessionPlugin),
			Next: "read \"Install the Session Manager plugin for the AWS CLI\" in the AWS Systems Manager User Guide, and install it"}
	}
	request := upkeep.SessionRequest{Target: target.SessionTarget()}
	var started []byte
	if o.forward {
		request = upkeep.PortForward{Port: o.port, LocalPort: o.localPort, Host: o.host}.Request(target)
		started, err = target.StartSession(ctx, p.Env.NewAct("exec"), t.account, request)
	} else {
		started, err = target.Execute(ctx, p.Env.NewAct("exec"), o.command)
	}
	if err != nil {
		return err
	}
	return p.runPlugin(t.account.Region(), target, started, request, o.does())
}

// does names what the flags ask for.
func (o *execFlags) does() string {
	if o.forward {
		return "forward a port"
	}
	return "execute a command"
}

// runPlugin connects this terminal to a session until it ends.
func (p *program) runPlugin(region string, target upkeep.ExecTarget, session []byte, q upkeep.SessionRequest,
	does string) error {
	request, err := json.Marshal(q)
	if err != nil {
		return err
	}
	err = p.Env.RunProgram(sessionPlugin, string(session), region, "StartSession", "", string(request),
		"https://ssm."+region+".amazonaws.com")
	if err != nil {
		next := "run sluice tasks to see whether the task still runs, then run sluice exec again"
		if !p.Env.InputIsTerminal() {
			err = fmt.Errorf("%w; it needs a terminal, and the input is none", err)
			next = "run sluice exec in a terminal; in CI, under script, which makes one"
		}
		return &sluice.Error{Op: does, Resource: target.Task, Err: fmt.Errorf("%s: %w", sessionPlugin, err), Next: next}
	}
	return nil
}

// check refuses flags that do not belong together.
func (o *execFlags) check() error {
	wrong := func(why, next string) error {
		return &sluice.Error{Op: "sluice exec", Err: errors.New(why), Next: next}
	}
	if o.ports != "" {
		parts := strings.Split(o.ports, ":")
		if len(parts) != 3 {
			return wrong("-L is not LOCAL:HOST:PORT", "give, for example, -L 8080:localhost:80")
		}
		if _, err := fmt.Sscanf(parts[0]+" "+parts[2], "%d %d", &o.localPort, &o.port); err != nil {
			return wrong("-L has a port that is not a number", "give, for example, -L 8080:localhost:80")
		}
		o.host, o.forward = parts[1], true
	}
	switch {
	case o.forward && o.port == 0:
		return wrong("--port-forward needs the port of the container", "give --port NUMBER")
	case !o.forward && (o.port != 0 || o.localPort != 0 || o.host != ""):
		return wrong("--port, --local-port and --host need --port-forward", "give --port-forward too")
	case o.command == "":
		return wrong("the command is empty", "give --command, or leave it out for sh")
	}
	return nil
}

// execTarget returns the container that the flags name.
func (p *program) execTarget(ctx context.Context, t *target, o execFlags) (upkeep.ExecTarget, error) {
	all, err := t.list(ctx)
	if err == nil {
		err = upkeep.CheckExec(t.service, all)
	}
	if err != nil {
		return upkeep.ExecTarget{}, err
	}
	switch {
	case o.id == "" && len(all) == 1:
		o.id = all[0].ID
	case o.id == "":
		if o.id, err = p.askForTask(ctx, all); err != nil {
			return upkeep.ExecTarget{}, err
		}
	}
	task, err := findTask(all, o.id)
	if err != nil {
		return upkeep.ExecTarget{}, err
	}
	return upkeep.FindExecTarget(ctx, t.service, task.ID, o.container)
}
