package cli

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	slashpath "path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/oklog/ulid/v2"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/folder"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// open is the AWS account in a Region; the flag goes before the region given.
func (p *program) open(ctx context.Context, region string) (*account.Account, clock.Clock, error) {
	c, scaled, err := p.clock()
	if err != nil {
		return nil, nil, err
	}
	if p.flags.region != "" {
		region = p.flags.region
	}
	if a := p.opened[region]; a != nil {
		return a, c, nil
	}
	a, err := account.Open(ctx, account.Config{
		Region: region, Profile: p.flags.profile, AssumeRole: p.flags.role, EndpointURL: p.flags.endpoint,
		HTTPClient: p.env.HTTPClient, Credentials: p.env.Credentials, APIOptions: p.env.APIOptions, Clock: c, Draw: p.draw,
		OnSilence: p.tellSilence,
	})
	if err != nil {
		return nil, nil, err
	}
	if scaled {
		err = a.SpeedAllowed()
	}
	if err == nil {
		if p.opened == nil {
			p.opened = map[string]*account.Account{}
		}
		p.opened[region] = a
	}
	return a, c, err
}

// tellSilence says that AWS does not answer, where no deployment tells it by an event.
func (p *program) tellSilence(e sluice.Unanswered) { fmt.Fprintln(p.env.Err, e.Text()) }

// draw is a number in [0,1).
func (p *program) draw() float64 {
	var b [8]byte
	if _, err := p.env.Rand.Read(b[:]); err != nil {
		return 0
	}
	return float64(binary.LittleEndian.Uint64(b[:])>>11) / (1 << 53)
}

// journal opens the journal, making it if need be, for a verb that carries something
// out: that does not end because nobody reads what it says.
func (p *program) journal() (*journal.Journal, error) {
	if p.env.Outlive != nil {
		p.env.Outlive()
	}
	return p.openJournal()
}

func (p *program) openJournal() (*journal.Journal, error) {
	c, _, err := p.clock()
	if err != nil {
		return nil, err
	}
	return p.env.OpenJournal(p.statePath(), c)
}

// journalIfAny is nil if there is none: who only looks makes no file.
func (p *program) journalIfAny() (*journal.Journal, error) {
	if path := p.statePath(); path != journal.Memory {
		abs, err := filepath.Abs(path)
		if err == nil {
			_, err = fs.Stat(p.env.FS(filepath.Dir(abs)), filepath.Base(abs))
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	return p.openJournal()
}

// engine runs deployments of the account on the journal.
func (p *program) engine(a *account.Account, c clock.Clock, j *journal.Journal) *engine.Engine {
	return &engine.Engine{Journal: j, Account: a, Clock: c, Owner: p.owner(), Alive: p.ownerAlive,
		NewID: func() string {
			id := ulid.MustNew(ulid.Timestamp(c.Now()), p.env.Rand)
			return plan.IDPrefix + strings.ToLower(id.String())
		}}
}

// owner names this process in leases.
func (p *program) owner() string { return fmt.Sprintf("%s/%d", p.env.Host, p.env.PID) }

// ownerAlive reports whether the process of a lease still runs. One of another
// machine cannot be asked: it does until its lease runs out.
func (p *program) ownerAlive(owner string) bool {
	host, text, ok := strings.Cut(owner, "/")
	pid, err := strconv.Atoi(text)
	if !ok || err != nil || host != p.env.Host {
		return true
	}
	return p.env.Alive(pid)
}

// application reads the application at a path. Its files are named as seen from
// the working directory, if they lie under it.
func (p *program) application(path string) (*appfile.Application, error) {
	at, err := p.place(path)
	if err != nil {
		return nil, err
	}
	if at.local {
		return appfile.Load(at.files, at.name, p.lookup)
	}
	return outside(at.folder)(appfile.Load(at.files, at.name, p.lookup))
}

// place is where an application is read from: its own folder, and nothing outside.
type place struct {
	files  fs.FS
	name   string // of the application file or the folder, in files
	local  bool   // the folder lies under the working directory, and files are named from there
	folder string // as the person named it
}

func (p *program) place(path string) (place, error) {
	abs, err := p.absolute(path)
	if err != nil {
		return place{}, &sluice.Error{Op: "find the working directory", Err: err}
	}
	at, dir := place{name: ".", folder: filepath.Clean(path)}, abs
	if _, err := fs.Stat(p.env.FS(abs), "."); err != nil {
		at.name, at.folder, dir = filepath.Base(abs), filepath.Dir(path), filepath.Dir(abs)
	}
	at.files = p.env.FS(dir)
	wd, err := p.env.Getwd()
	if err != nil {
		return place{}, &sluice.Error{Op: "find the working directory", Err: err}
	}
	if rel, err := filepath.Rel(wd, dir); err == nil && filepath.IsLocal(rel) {
		rel = filepath.ToSlash(rel)
		at.local, at.name, at.files = true, slashpath.Join(rel, at.name), folder.Named(rel, at.files)
	}
	return at, nil
}

// outside names the files of an application that is not under the working folder as
// the person did: by the folder that was given.
func outside(folder string) func(*appfile.Application, error) (*appfile.Application, error) {
	named := func(file string) string { return filepath.ToSlash(filepath.Join(folder, file)) }
	return func(app *appfile.Application, err error) (*appfile.Application, error) {
		for _, e := range apart(err) {
			var problem *definition.Problem
			var told *sluice.Error
			switch {
			case errors.As(e, &problem):
				problem.File = named(problem.File)
			case errors.As(e, &told) && told.Resource != "":
				told.Resource = named(told.Resource)
			}
		}
		if err != nil {
			return nil, err
		}
		app.File = named(app.File)
		if app.Task != nil {
			app.Task.File = named(app.Task.File)
		}
		if app.Service != nil {
			app.Service.File = named(app.Service.File)
		}
		return app, nil
	}
}

func (p *program) lookup(key string) (string, bool) {
	v := p.env.Getenv(key)
	return v, v != ""
}
