package session

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/signedread"
	"github.com/sluice-ecs/sluice/internal/stage"
)

// OutsideAWS returns what gates use besides AWS. a reads secrets of Systems Manager; nil: there are none.
func (e Env) OutsideAWS(a *account.Account) *stage.OutsideAWS {
	return &stage.OutsideAWS{HTTP: &http.Client{}, Secret: func(ctx context.Context, place string) (string, error) {
		kind, name, _ := strings.Cut(place, ":")
		switch {
		case kind == "env":
			if value, ok := e.LookupEnv(name); ok {
				return value, nil
			}
			return "", &sluice.Error{Op: "read secret", Resource: place, Err: fmt.Errorf("the environment variable is not set"),
				Next: "set the environment variable " + name}
		case kind == "ssm" && a != nil:
			p, err := signedread.Reader{Sender: a}.Parameter(ctx, name)
			return p.Value, err
		case kind == "file":
			data, err := e.Disk.ReadFile(name)
			return string(data), err
		}
		return "", &sluice.Error{Op: "read secret", Resource: place, Err: fmt.Errorf("this place is not known"),
			Next: "use env:NAME, ssm:/name or a file"}
	}}
}

// readProvidersFile reads the file of --providers; nil: none is given.
func (f *Flags) readProvidersFile(disk Disk) (*appfile.ProvidersFile, error) {
	name := f.providers
	if name == "" {
		return nil, nil
	}
	data, err := disk.ReadFile(name)
	if err != nil {
		return nil, &sluice.Error{Op: "read --providers", Resource: name, Err: err,
			Next: "name a file with the key analysisProviders"}
	}
	return &appfile.ProvidersFile{Name: name, Data: data}, nil
}
